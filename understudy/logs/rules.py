"""What the columns of a log alone can tell: rules, each a function from a log to its findings."""

from collections import Counter
from collections.abc import Callable, Iterator
from math import exp, log1p
from math import log as ln
from typing import TYPE_CHECKING

import numpy as np

from understudy.logs.findings import Finding, found

if TYPE_CHECKING:
    from understudy.logs.log import Log

TOLERANCE = 1e-5  # of a sum of probabilities
RESET_RATE = 1e-6  # false alarms of next-observation-is-reset
SAMPLE = 20_000  # rows that tell how common an observation is
FEW_EPISODES = 20  # with so many, an end of true probability .2 is served in .19 of steps or more (exactness.md)
MOST_LABELS = 50  # named in a sentence
FEW_ROWS = 100  # fewer say nothing of how common observations are
BLOCK = 1 << 22  # entries looked at together, so that a log of images needs no second copy

Findings = Iterator[Finding]


def missing(log: "Log") -> Findings:
    """NaN or infinite values."""
    seen: dict[str, np.ndarray] = {}
    for name in ("reward", "observation", "next_observation", "propensity"):
        column = getattr(log, name)
        if column is None or column.dtype.kind != "f":
            continue
        rows = seen[name] = _rows_where(lambda block: ~np.isfinite(block), column)
        if name in log.derived:  # what was taken from the observation of this row or the next is said already
            rows = rows[~np.isin(rows, seen["observation"]) & ~np.isin(rows + 1, seen["observation"])]
        if len(rows):
            move = "fill them in" if name != "propensity" else "fill them in, or leave propensity out and use qbe"
            yield found("error", "missing", rows, f"{name} is NaN or infinite {{where}}; {move}, or drop the episodes")


def action_range(log: "Log") -> Findings:
    """Actions that are none."""
    if log.action.min() < 0 or log.action.max() >= log.spec.n_actions:
        rows = np.flatnonzero((log.action < 0) | (log.action >= log.spec.n_actions))
        values = np.unique(log.action)
        move = "code actions from 0 up, or say n_actions="
        if log.spec.actions is None and len(values) <= log.spec.n_actions:
            move = f"{_as_labels(values)}{_beside(log)}; or code actions from 0 up"
        yield found("error", "action-range", rows, f"action is outside 0 to {log.spec.n_actions - 1} {{where}}; {move}")


def propensity_range(log: "Log") -> Findings:
    """Probabilities outside 0 to 1."""
    p = log.propensity
    if p is None or (p.min() >= 0 and p.max() <= 1 + TOLERANCE):
        return
    rows = _rows_where(lambda block: (block < 0) | (block > 1 + TOLERANCE), p)
    if len(rows):
        yield found(
            "error",
            "propensity-range",
            rows,
            f"propensity is outside 0 to 1 {{where}}; fix the column{_unit(p[rows])}, or drop it and use qbe",
        )


def _unit(p: np.ndarray) -> str:
    """A guess at what probabilities are given in, from rows in which they are outside 0 to 1."""
    if p.ndim == 2 and np.all(p >= 0) and np.all(np.abs(p.sum(axis=1) - 100) < 1):
        return " (are they percentages?)"
    if p.ndim == 1 and np.all(p >= 0) and p.max() <= 100:
        return " (are they percentages?)"
    return " (are they logarithms?)" if np.all(p <= 0) else ""


def propensity_sum(log: "Log") -> Findings:
    """Probabilities that are no distribution."""
    p = log.propensity
    if p is None or p.ndim == 1:
        return
    with np.errstate(invalid="ignore", over="ignore"):
        total = p @ np.ones(p.shape[1])
    rows = np.flatnonzero(np.abs(total - 1) > TOLERANCE)
    if len(rows):
        yield found(
            "error",
            "propensity-sum",
            rows,
            f"propensity sums to {total[rows[0]]:.6g}, not 1, in row {rows[0]}, and so {{where}} in all; "
            "fix the column, or drop it and use qbe",
        )


def propensity_zero(log: "Log") -> Findings:
    """Actions taken with probability 0."""
    p = log.propensity
    if p is None:
        return
    if p.ndim == 2:
        real = (log.action >= 0) & (log.action < p.shape[1])
        taken = p[np.arange(len(log)), np.where(real, log.action, 0)]
        rows = np.flatnonzero((taken == 0) & real)
    else:
        rows = np.flatnonzero(p == 0)
    if len(rows):
        yield found(
            "error",
            "propensity-zero",
            rows,
            "the action taken has propensity 0 {where}; fix the column (are its actions in another order?), "
            "or drop it and use qbe",
        )


def episode_contiguity(log: "Log") -> Findings:
    """Episodes whose rows are not together."""
    rows = log.starts[later_pieces(log.episode, log.starts)]
    if len(rows):
        yield found(
            "error",
            "episode-contiguity",
            rows,
            f"episode {log.episode[rows[0]]} goes on in row {rows[0]} after another began, and so {{where}} in all; "
            "sort the rows by episode, or read the file with order_by=",
        )


def step_order(log: "Log") -> Findings:
    """Steps that do not count up by one.

    Steps that were counted here do, unless episodes are in pieces, which is a finding of its own.
    """
    if "step" in log.derived:
        return
    rise = np.diff(log.step)
    inside = _inside(log)
    if np.any(inside & (rise != 1)):
        back = np.flatnonzero(inside & (rise < 1)) + 1
        if len(back):
            yield found(
                "error",
                "step-order",
                back,
                "step does not rise within its episode {where}; sort the rows by episode and step, or leave step out",
            )
        gaps = np.flatnonzero(inside & (rise > 1)) + 1
        if len(gaps):
            yield found("warning", "step-order", gaps, "step jumps {where}: rows before them are missing")
    first = log.step[log.starts[:-1]]
    values, counts = np.unique(first, return_counts=True)
    late = log.starts[:-1][first > values[np.argmax(counts)]]
    if len(late):
        yield found(
            "warning",
            "step-order",
            late,
            f"an episode starts after step {values[np.argmax(counts)]}, the usual first one, {{where}}: "
            "it counts as an opening all the same; drop such episodes if they did not begin there",
        )


def end_inside(log: "Log") -> Findings:
    """Episodes that go on after their end."""
    rows = np.flatnonzero((log.terminated[:-1] | log.truncated[:-1]) & _inside(log))
    if len(rows):
        yield found(
            "error",
            "end-inside",
            rows,
            "terminated or truncated is set {where}, but the episode goes on; fix the flags, or leave episode out",
        )


def next_observation_is_reset(log: "Log") -> Findings:
    """Next observations that belong to the next episode.

    Compared with how often an opening observation follows a row that is not an episode's last: a binomial tail,
    bounded by Chernoff, so that a small world in which openings are common raises no alarm.
    """
    last, opening = log.starts[1:-1] - 1, log.starts[1:-1]
    over = log.terminated[last]
    same = ~_differs(log.next_observation[last], log.observation[opening])
    for severity, group in (("error", ~over), ("warning", over)):
        hits, n = int(same[group].sum()), int(group.sum())
        if 2 * hits < max(n, 1):  # a logger that stores resets stores (nearly) all of them
            continue
        if _binomial_tail(hits, n, _chance(log, opening[group])) < RESET_RATE:
            yield found(
                severity,
                "next-observation-is-reset",
                last[group & same],
                "next_observation is the next episode's opening observation {where}: "
                + (
                    "learners would bootstrap from it; record what was observed before the reset, or leave "
                    "next_observation out, or, if nothing was reset there, make it one episode"
                    if severity == "error"
                    else "harmless to learners, since these rows are terminated, but encoders that are fitted see it"
                ),
            )


def next_observation_continuity(log: "Log") -> Findings:
    """Next observations that are not what the next row observes, unless they were taken from there."""
    if "next_observation" in log.derived:
        return
    rows = _rows_where(lambda a, b: a != b, log.next_observation[:-1], log.observation[1:])
    rows = rows[_inside(log)[rows]]
    if len(rows):
        yield found(
            "warning",
            "next-observation-continuity",
            rows,
            "next_observation is not the next row's observation {where}, within one episode: "
            "rows are missing or out of order, or the two columns are made differently",
        )


def both_ends(log: "Log") -> Findings:
    """Rows that are both terminated and truncated."""
    rows = np.flatnonzero(log.terminated & log.truncated)
    if len(rows):
        yield found(
            "warning", "both-ends", rows, "terminated and truncated are both set {where}; they are read as terminated"
        )


def unfinished(log: "Log") -> Findings:
    """Episodes that just stop."""
    rows = log.starts[1:][log.unfinished] - 1
    if len(rows) and not len(later_pieces(log.episode, log.starts)):  # the end of a piece is not the end of an episode
        lengths = np.diff(log.starts) + (log.unfinished & ("next_observation" in log.derived))  # with the row dropped
        stopped, some_ended = lengths[log.unfinished], log.terminated.any() or log.truncated.any()
        limit = len(stopped) > 1 and np.all(stopped == lengths.max())
        move = "; set truncated= where a time limit ended them" if some_ended else ""
        if limit:
            move = f". All of these have {lengths.max():,} steps, and no episode has more: a time limit of that length "
            move += f"seems to have ended them{', so set truncated= there' if some_ended else ''}"
        yield found(
            "note",
            "unfinished",
            rows,
            "an episode ends neither terminated nor truncated {where}: the recording is taken to have been cut off "
            f"there, so such episodes keep their places, and none is moved past them{move}",
        )


def one_episode(log: "Log") -> Findings:
    """A log whose order cannot vary."""
    if log.n_episodes == 1:
        yield Finding(
            "note", "one-episode", (), 1, "the log is one episode: its order is the same in every run of a simulation"
        )


def few_episodes(log: "Log") -> Findings:
    """So few episodes that their ends are served too rarely.

    A row exists only where no row before it ended its episode, so the rows that a short log happens to have are those
    after which things went on. Continuing logs, in which nothing ends, have nothing to lose.
    """
    if log.n_episodes < FEW_EPISODES and log.terminated.any():
        yield Finding(
            "warning",
            "few-episodes",
            (),
            log.n_episodes,
            f"the log has {log.n_episodes} episode{'s' * (log.n_episodes != 1)}: with fewer than {FEW_EPISODES}, steps "
            "that are served end an episode less often than in truth; record more episodes, and read how many runs had "
            "stopped beside every result",
        )


def no_ends(log: "Log") -> Findings:
    """Logs in which nothing tells where an episode begins or ends."""
    if "terminated" in log.derived:
        yield Finding(
            "warning",
            "no-episode",
            (),
            len(log),
            "no column tells where episodes begin or how they ended, so all rows are read as one long episode that is "
            'not over; if it is one, say ends="unfinished"; if each row is a decision by itself, say ends="every-row"; '
            "else name columns with episode= and terminated=",
        )


def propensity_kind(log: "Log") -> Findings:
    """Propensities that are not there, or of the chosen action only."""
    if log.propensity is None:
        rule, what = "no-propensity", "there are no propensities"
    elif log.propensity.ndim == 1:
        rule, what = "chosen-propensity", "only the chosen action's propensity was logged"
    else:
        return
    yield Finding("warning", rule, (), len(log), f"{what}: this rules out psrs, actions_only and exo_psrs; use qbe")


def action_never_logged(log: "Log") -> Findings:
    """Actions without a row."""
    real = log.action[(log.action >= 0) & (log.action < log.spec.n_actions)]
    never = np.flatnonzero(np.bincount(real, minlength=log.spec.n_actions) == 0)
    if len(never):
        names = [log.spec.actions[code] if log.spec.actions else str(code) for code in never[:5]]
        yield Finding(
            "warning",
            "action-never-logged",
            (),
            len(never),
            f"{len(never)} of {log.spec.n_actions} actions {'was' if len(never) == 1 else 'were'} never taken "
            f"({', '.join(names)}{', ...' if len(never) > 5 else ''}): a learner that wants one ends the run"
            f"{_gaps(log)}",
        )


def _gaps(log: "Log") -> str:
    """What to do about actions that are numbers with wide gaps, where no propensity column stands for each code."""
    values = np.unique(log.action)
    derived = values[0] >= 0 and values[-1] == log.spec.n_actions - 1
    if log.spec.actions is not None or not derived or 2 * len(values) > log.spec.n_actions:
        return ""
    return "" if log.propensity is not None and log.propensity.ndim == 2 else f"; {_as_labels(values)}"


def _as_labels(values: np.ndarray) -> str:
    """The advice to give the numbers in an action column as labels."""
    if len(values) > MOST_LABELS:
        return f"the column holds {len(values):,} different numbers: give them as labels with actions="
    numbers = values.tolist()
    labels = ", ".join(f'"{number}"' for number in numbers)
    return f"the column holds {', '.join(map(str, numbers))}: if these are the actions, say actions=[{labels}]"


def _beside(log: "Log") -> str:
    """In which order labels are to stand, and how many of them."""
    if log.propensity is None or log.propensity.ndim == 1:
        return ""
    return f", all {log.spec.n_actions} of them in the order of the propensity columns"


def distinct_observations(log: "Log") -> Findings:
    """Observations that hardly ever recur, so that no row stands in for another."""
    n = len(log)
    if n < FEW_ROWS:
        return
    rows, where = np.arange(n), ""
    if n > SAMPLE:
        rows, where = np.random.default_rng(0).choice(n, SAMPLE, replace=False, shuffle=False), "in a sample of rows, "
    seen = Counter(hash(log.observation[row].tobytes()) for row in rows)
    once = sum(times == 1 for times in seen.values())
    if 2 * once > len(rows):
        yield Finding(
            "warning" if once > 0.9 * len(rows) else "note",
            "distinct-observations",
            (),
            once,
            f"{where}{len(seen):,} of {len(rows):,} observations are distinct, and {once:,} occur only once: without "
            "an encoder a run stops almost at once; merge them with one, and let encoder.audit(log) test its states",
        )


def notes(log: "Log") -> Findings:
    """What was derived or dropped when the log was made."""
    for note in log.notes:
        rule, _, sentence = note.partition(": ")
        yield Finding("note", rule, (), 1, sentence)


ERRORS: tuple[Callable[["Log"], Findings], ...] = (
    missing, action_range, propensity_range, propensity_sum, propensity_zero, episode_contiguity, step_order,
    end_inside, next_observation_is_reset,
)  # fmt: skip
"""Rules that can find an error, in the order in which `Log.sound` asks them."""

OTHERS: tuple[Callable[["Log"], Findings], ...] = (
    no_ends, next_observation_continuity, both_ends, propensity_kind, action_never_logged, distinct_observations,
    unfinished, few_episodes, one_episode, notes,
)  # fmt: skip
"""Rules that find warnings and notes only."""


def later_pieces(episode: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Which runs of rows with one episode id go on with an episode that an earlier one began.

    >>> later_pieces(np.array([7, 8, 7]), np.array([0, 1, 2, 3]))
    array([2])
    """
    ids = episode[starts[:-1]]
    if np.all(ids[1:] > ids[:-1]):
        return np.empty(0, np.int64)
    order = np.argsort(ids, kind="stable")
    return np.sort(order[1:][ids[order[1:]] == ids[order[:-1]]])


def _inside(log: "Log") -> np.ndarray:
    """For every row but the last: whether its episode goes on in the next one."""
    return log.episode[1:] == log.episode[:-1]


def _rows_where(test: Callable[..., np.ndarray], *arrays: np.ndarray) -> np.ndarray:
    """The rows in which the test holds for some entry."""
    n = len(arrays[0])
    height = max(1, BLOCK // max(1, arrays[0][:1].size))
    some = []
    for at in range(0, n, height):
        holds = test(*(array[at : at + height] for array in arrays))
        if holds.any():
            some.append(at + np.flatnonzero(holds.reshape(len(holds), -1).any(axis=1)))
    return np.concatenate(some) if some else np.empty(0, np.int64)


def _differs(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    differs = np.zeros(len(one), bool)
    differs[_rows_where(lambda a, b: a != b, one, other)] = True
    return differs


def _chance(log: "Log", openings: np.ndarray) -> float:
    """How often a row that is not the last of its episode leads to one of these openings, on the high side."""
    rng = np.random.default_rng(0)  # a sample is enough, and always the same one
    inner = np.flatnonzero(_inside(log))
    if len(inner) > SAMPLE:
        inner = inner[rng.integers(len(inner), size=SAMPLE)]
    if len(openings) > SAMPLE:
        openings = openings[rng.integers(len(openings), size=SAMPLE)]
    seen = Counter(row.tobytes() for row in log.next_observation[inner])
    return sum(seen[row.tobytes()] + 1 for row in log.observation[openings]) / (len(openings) * (len(inner) + 1))


def _binomial_tail(hits: int, n: int, chance: float) -> float:
    """An upper bound on P(at least this many hits in n), by Chernoff.

    >>> _binomial_tail(20, 20, 0.5) == 0.5**20
    True
    """
    share = hits / n if n else 0.0
    if share <= chance:
        return 1.0
    divergence = share * ln(share / chance)
    if share < 1:
        divergence += (1 - share) * (log1p(-share) - log1p(-chance))
    return exp(-n * divergence)
