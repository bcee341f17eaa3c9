"""The replay simulators once more, with lists and dictionaries: what the compiled ones must equal row for row."""

from itertools import accumulate, pairwise

from understudy.contracts.streams import ACCEPTANCE, OPENINGS, ORDER, Stream


def shuffled(items, stream, stays=()):
    """Items in random order (Fisher-Yates); those at some places stay, and none is moved past them."""
    items = list(items)
    for place in range(len(items)):
        until = min([stay for stay in stays if stay >= place], default=len(items))
        if place < until:
            other = place + stream.below(until - place)
            items[place], items[other] = items[other], items[place]
    return items


class Reference:
    """One rehearsal; `state` and `next_state` are the encoder's. `propensity_of(row, x)` is there to be got wrong."""

    def __init__(self, name, log, state, next_state, seed, *, order="episodes", openings="queue",
                 stop="predictable", limit=None, propensity_of=None):  # fmt: skip
        self.name, self.log, self.state, self.next_state, self.stop, self.limit = (
            name, log, state.tolist(), next_state.tolist(), stop, limit
        )  # fmt: skip
        self.uniform = Stream(seed, ACCEPTANCE).uniform
        self.propensity_of = propensity_of or (lambda row, x: log.propensity[row])
        episodes = [list(range(*span)) for span in pairwise(log.starts.tolist())]
        first = [episode[0] for episode in episodes]
        if order == "episodes":
            episodes = shuffled(episodes, Stream(seed, ORDER), [n for n, cut in enumerate(log.unfinished) if cut])
        rows = [row for episode in episodes for row in episode]
        if order == "rows":
            rows = shuffled(rows, Stream(seed, ORDER))
            episodes = shuffled(episodes, Stream(seed, OPENINGS))
        if openings == "queue":
            first = [episode[0] for episode in episodes]
        again = Stream(seed, OPENINGS)
        self.openings = iter(first) if openings == "queue" else iter(lambda: first[again.below(len(first))], None)
        self.queues = {}
        for row in rows:
            self.queues.setdefault(self.key(self.state[row], int(log.action[row])), []).append(row)

    def key(self, z, a):
        return {"qbe": (z, a), "psrs": z, "states_only": z}.get(self.name)

    def run(self, policy_at):
        """Rows, openings and the cause of the end, of a learner whose policy depends on step and observation."""
        rows, opened = [], []
        for opening in self.openings:
            opened.append(opening)
            x, z, age, over = self.log.observation[opening], self.state[opening], 0, False
            while not over:
                row, cause = self.draw(x, z, list(policy_at(len(rows), x)))
                if cause:
                    return rows, opened, cause
                rows.append(row)
                x, z, age = self.log.next_observation[row], self.next_state[row], age + 1
                over = bool(self.log.terminated[row]) or age == self.limit
        return rows, opened, "no opening"

    def draw(self, x, z, policy):
        keyed = self.name in ("qbe", "psrs", "states_only")
        if keyed and z < 0:
            return None, "no state"
        if keyed and z not in self.state:
            return None, "never logged"
        if self.name == "qbe":
            return self.chosen(z, policy)
        queue, passed = self.queues.get(self.key(z, 0), []), False
        while queue:
            row = queue.pop(0)
            if self.name in ("states_only", "any_row"):
                return row, None
            p, a = list(self.propensity_of(row, x)), int(self.log.action[row])
            unsupported = any(pi > 0 and q == 0 for pi, q in zip(policy, p, strict=True))
            u = self.uniform()
            if not unsupported:
                bound = max(pi / q for pi, q in zip(policy, p, strict=True) if q > 0)
                if u < policy[a] / (bound * p[a]):
                    return row, None
            passed |= unsupported
        return None, "unsupported" if passed else "queue empty" if keyed else "no row"

    def chosen(self, z, policy):
        have = [bool(self.queues.get((z, a))) for a in range(len(policy))]
        if self.stop == "predictable" and any(pi > 0 and not rows for pi, rows in zip(policy, have, strict=True)):
            return None, "queue empty for action"
        u = self.uniform() * sum(policy)
        a = next(a for a, edge in enumerate(accumulate(policy)) if u < edge)
        return (self.queues[z, a].pop(0), None) if have[a] else (None, "queue empty for action")
