"""The replay simulators once more, with lists and dictionaries: what the compiled ones must equal row for row."""

from itertools import accumulate, pairwise

from understudy.contracts.streams import ACCEPTANCE, ENVIRONMENT, OPENINGS, ORDER, Stream


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
    """One rehearsal; `state` and `next_state` are the encoder's. `propensity_of(row, x)` is there to be got wrong.

    `reserve` is False, True, or the name of a way to get the reserve wrong, one of WRONG_RESERVES.
    """

    def __init__(self, name, log, state, next_state, seed, *, order="episodes", openings="queue",
                 stop="predictable", limit=None, propensity_of=None, reserve=False):  # fmt: skip
        self.name, self.log, self.state, self.next_state, self.stop, self.limit = (
            name, log, state.tolist(), next_state.tolist(), stop, limit
        )  # fmt: skip
        self.reserve, self.reserves, self.candidate = reserve, {}, None
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
        self.where = self.what = None  # the state and the action that a run stopped at
        self.queues = {}
        for row in rows:
            self.queues.setdefault(self.key(self.state[row], int(log.action[row])), []).append(row)

    def key(self, z, a):
        return {"qbe": (z, a), "psrs": z, "states_only": z}.get(self.name)

    def run(self, policy_at, max_steps=10**6):
        """Rows, openings and the cause of the end, of a learner whose policy depends on step and observation."""
        rows, opened, over = [], [], True
        while len(rows) < max_steps:
            if over:
                opening = next(self.openings, None)
                if opening is None:
                    return rows, opened, "no opening"
                opened.append(opening)
                x, z, age = self.log.observation[opening], self.state[opening], 0
            row, cause = self.draw(x, z, list(policy_at(len(rows), x)))
            if cause:
                return rows, opened, cause
            rows.append(row)
            x, z = self.led_to(row)
            age += 1
            over = bool(self.log.terminated[row]) or age == self.limit
        return rows, opened, "max steps"

    def led_to(self, row):
        """The next observation and its state."""
        return self.log.next_observation[row], self.next_state[row]

    def draw(self, x, z, policy):
        keyed = self.name in ("qbe", "psrs", "states_only")
        if keyed and z < 0:
            return None, "no state"
        self.where = z if keyed else None
        if keyed and z not in self.state:
            return None, "never logged"
        if self.name == "qbe":
            return self.chosen(z, policy)
        if self.reserve:
            row = self.with_reserve(x, z, policy)
            return row, "queue empty for action" if row is None else None
        queue, passed = self.queues.get(self.key(z, 0), []), None
        while queue:
            row = queue.pop(0)
            if self.name in ("states_only", "any_row"):
                return row, None
            p, a = list(self.propensity_of(row, x)), int(self.log.action[row])
            unsupported = [b for b, (pi, q) in enumerate(zip(policy, p, strict=True)) if pi > 0 and q == 0]
            u = self.uniform()
            if not unsupported:
                bound = max(pi / q for pi, q in zip(policy, p, strict=True) if q > 0)
                if u < policy[a] / (bound * p[a]):
                    return row, None
            passed = unsupported or passed
        if passed:
            self.what = max(passed, key=lambda b: policy[b])
        return None, "unsupported" if passed else "queue empty" if keyed else "no row"

    def with_reserve(self, x, z, policy):
        """PSRS with a reserve: a row, or None."""
        wrong, queue = self.reserve, self.queues.get(z, [])
        while lacking := self.lacking(z, policy):
            self.candidate = queue[0] if queue else self.candidate  # the last one, where there is no other
            p, a = self.propensity_of(self.candidate, x), int(self.log.action[self.candidate])
            bound = self.largest_ratio(policy, p, lacking)
            if wrong == "coin first" and (drawn := self.above(policy, p, bound)) is not None:
                return self.reserves[z, drawn].pop(0)
            if not queue:
                self.what = max(lacking, key=lambda b: policy[b])
                a = self.action(policy) if wrong == "stop after the coin" else self.what
                return None if a in lacking else self.reserves[z, a].pop(0)
            row, u = queue.pop(0), self.uniform()
            covering = self.largest_ratio(policy, p, range(len(policy))) if wrong == "whole bound" else bound
            if covering < float("inf") and u < policy[a] / (covering * p[a]):
                drawn = None if wrong == "coin first" else self.above(policy, p, bound)
                if wrong == "accepted row first" and drawn is None:
                    return row
                self.reserves.setdefault((z, a), []).append(row)
                return self.reserves[z, a if drawn is None else drawn].pop(-1 if wrong == "newest first" else 0)
            self.reserves.setdefault((z, a), []).append(row)
        return self.reserves[z, self.action(policy)].pop(-1 if wrong == "newest first" else 0)

    def lacking(self, z, policy):
        """The actions that the learner may take and that have no row in reserve."""
        return [a for a, pi in enumerate(policy) if pi > 0 and not self.reserves.get((z, a))]

    def largest_ratio(self, policy, p, actions):
        return max((policy[a] * (1 / p[a]) if p[a] > 0 else float("inf")) for a in actions)

    def above(self, policy, p, bound):
        """The action drawn from what the policy has above the bound times the propensity; None for the row itself."""
        if self.largest_ratio(policy, p, [a for a, pi in enumerate(policy) if pi > 0]) <= bound:
            return None
        excess = [max(0.0, pi - bound * q) for pi, q in zip(policy, p, strict=True)]
        u = self.uniform() * sum(policy)
        return next((a for a, edge in enumerate(accumulate(excess)) if u < edge), None)

    def chosen(self, z, policy):
        have = [bool(self.queues.get((z, a))) for a in range(len(policy))]
        missing = [a for a, (pi, rows) in enumerate(zip(policy, have, strict=True)) if pi > 0 and not rows]
        if self.stop == "predictable" and missing:
            self.what = missing[0]
            return None, "queue empty for action"
        self.what = a = self.action(policy)
        return (self.queues[z, a].pop(0), None) if have[a] else (None, "queue empty for action")

    def action(self, policy):
        u = self.uniform() * sum(policy)
        return next(a for a, edge in enumerate(accumulate(policy)) if u < edge)


WRONG_RESERVES = ("coin first", "stop after the coin", "whole bound", "newest first", "accepted row first")


class ModelReference(Reference):
    """The maximum-likelihood model, which never runs out: rows, openings and emissions with replacement."""

    def __init__(self, log, state, next_state, seed, *, emission="uniform", limit=None):
        super().__init__("qbe", log, state, next_state, seed, order="log", openings="replacement", limit=limit)
        self.below = Stream(seed, ENVIRONMENT).below
        self.seen = {}  # the observations of each state, and their places: row i's is i, its next one N + i
        distinct = set()
        for later, (column, states) in enumerate(
            [(log.observation, self.state), (log.next_observation, self.next_state)]
        ):
            for row, (x, z) in enumerate(zip(column.tolist(), states, strict=True)):
                if emission != "row" and z >= 0 and (emission == "empirical" or x not in distinct):
                    self.seen.setdefault(z, []).append((column[row], row + later * len(log)))
                distinct.add(x)
        self.emissions = []

    def chosen(self, z, policy):
        self.what = a = self.action(policy)
        rows = self.queues.get((z, a), [])
        return (rows[self.below(len(rows))], None) if rows else (None, "queue empty for action")

    def led_to(self, row):
        x, z = super().led_to(row)
        lent = -1
        if z in self.seen:
            x, lent = self.seen[z][self.below(len(self.seen[z]))]
        self.emissions.append(lent)
        return x, z
