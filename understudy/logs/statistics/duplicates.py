"""Whether rows or whole episodes are in the log more often than chance explains."""

from typing import NamedTuple

import numpy as np

from understudy.logs.findings import Answer, AuditTest, Finding, finding_in_rows
from understudy.logs.log import Log
from understudy.logs.recurring import Recurring, keys_of
from understudy.logs.statistics.samples import Sample
from understudy.logs.statistics.tails import freedman

EPISODES = "duplicate-episodes"
EPISODES_QUESTION = "Are more episodes equal to another, in every column that was named, than chance explains?"
ROWS = "duplicate-rows"
ROWS_QUESTION = "Do rows stand twice in a row more often than chance explains?"
MANY = 0.05  # with this share of copies, what is simulated must not be believed
ADVICE = "where ids or times in the file tell which are copies, drop those, and keep what is equal by chance"
FAR = 9  # rows; neighbors at distances of 2 to this are as often alike as next ones, but for copies


def duplicate_episodes(log: Log, states: Recurring, certain: Sample | None = None, n_episodes: int = 0) -> Answer:
    """Find episodes that are copies of others.

    On a small world short episodes are equal by chance. With propensities, the probability that an episode is equal to
    a given one is at most the product of that one's propensities, whatever the world does; so two tests are exact: the
    least likely of all pairs that are equal, and how many episodes are equal to the one before with the same opening.
    Without, the numbers of episodes that occur once, twice and three times are compared, which chance ties together.

    Where `log` is a sample of a longer one, `certain` has the episodes of that one with certain contents, which are
    compared, and `n_episodes` is how many it has; only the last of the three tests is made on `log` itself.
    """
    n = log.n_episodes
    if n < 2:
        return Answer(AuditTest(EPISODES, EPISODES_QUESTION, 0, None, "there is one episode"))
    p_values = []
    whole, key = log, _episode_keys(log)
    if log.propensity is not None:
        next_ones = _next_with_its_opening(log, key)
        p_values.append(next_ones.tail)
    if certain is not None:
        log, n = certain.log, certain.log.n_episodes
        key = _episode_keys(log)
    _, first, group, copies = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    p_values.append(_copies_tail(copies))
    if log.propensity is not None:
        n_pairs = _n_pairs(log) if certain is None else n_episodes * (n_episodes - 1) / 2
        p_values.append(_rarest_tail(log, copies[group] > 1, n_pairs))
    p_value = min(1.0, len(p_values) * min(p_values))
    tested = AuditTest(EPISODES, EPISODES_QUESTION, len(p_values), p_value)
    if not tested.fires:
        return Answer(tested)
    later = np.ones(n, bool)
    later[first] = False
    extra = int(later.sum())
    shares = [_copies_beyond_chance(copies) / n]  # of episodes, that are copies at least
    if log.propensity is not None:
        shares.append(next_ones.excess / whole.n_episodes)
        if certain is None:
            shares.append((extra - _equal_by_chance(log, later)) / n)
        if len(whole) == whole.n_episodes:
            shares.append(_next_ones(whole, _episode_keys(whole), _openings(whole)).excess / len(whole))
    excess = min(extra, max(1, round(n * max(shares))))
    rows = log.rows_in_source(log.starts[:-1][later][:5])
    where = "" if certain is None else certain.words
    return Answer(
        tested,
        (
            Finding(
                "doubt" if excess >= MANY * n else "warning",
                EPISODES,
                rows,
                extra,
                f"{where}{extra:,} of {n:,} episodes are equal to an earlier one in every column that was named, at "
                f"least about {excess:,} more than chance explains (the first begin in rows "
                f"{', '.join(map(str, rows))}): copies pass for evidence; {ADVICE}",
            ),
        ),
    )


def duplicate_rows(log: Log, states: Recurring, numbers: np.ndarray | None = None) -> Answer:
    """Find that rows stand twice, one right after the other; of decisions by themselves, `_decisions_twice`.

    A row may be equal to the one before by chance, as where nothing changes until an action succeeds. If each
    repetition is a matter of chance, a run of equal rows is at least as likely to have an odd length as an even one;
    doubled rows make it even. A run that goes on up to the end of its episode has no length of its own and does not
    count: episodes of a fixed length end many runs at the same place. Where `log` is a sample, `numbers` are its rows'
    in the whole log; a run that goes on up to rows that were left out does not count, either.
    """
    if len(log) == log.n_episodes > 1:
        return _decisions_twice(log, numbers)
    inside = np.append(log.episode[1:] == log.episode[:-1], False)  # a row of the same episode follows
    if numbers is not None:
        inside[:-1] &= np.diff(numbers) == 1
    same = np.append(False, inside[:-1])
    for column in (log.observation, log.action, log.reward, log.propensity):
        if column is not None and same.any():
            rows = np.flatnonzero(same)
            same[rows] = keys_of(column[rows]) == keys_of(column[rows - 1])
    if not same.any():
        return Answer(AuditTest(ROWS, ROWS_QUESTION, 1, 1.0))
    begins = np.flatnonzero(~same)
    lengths = np.diff(np.append(begins, len(log)))
    odd = (lengths % 2 == 1)[inside[begins + lengths - 1]]
    tested = AuditTest(ROWS, ROWS_QUESTION, 1, _few_tail(int(odd.sum()), len(odd)))
    if not tested.fires:
        return Answer(tested)
    sentence = "a row is equal to the one before it {where}, and nearly every row stands an even number of times: "
    sentence += "a join seems to have doubled them; where ids or times in the file tell the same, drop the copies"
    same[1:] &= (log.terminated[1:] == log.terminated[:-1]) & (log.truncated[1:] == log.truncated[:-1])
    return Answer(tested, (finding_in_rows(log, "doubt", ROWS, np.flatnonzero(same), sentence),))


def _decisions_twice(log: Log, numbers: np.ndarray | None) -> Answer:
    """Find that decisions are equal to the one in the row before more often than chance explains.

    Neighbors may be alike, as where a user comes back at once; actions are drawn all the same. So where a row has the
    observation of the row before, its action is the same as often as its propensity says, whatever the world does: that
    bounds the rate of false alarms. It takes rows in the order they were decided in; in a file that is sorted by action
    it is the same more often, but so is that of the row before that: so equal rows must be next to each other more
    often than a few rows apart, too. Copies have the time of their originals: where times are known, neighbors with one
    time are looked at by themselves, too.
    """
    if log.propensity is None:
        return _not_asked("where each row is a decision by itself, propensities are needed, and right ones")
    key, observed = _episode_keys(log), _openings(log)
    if _is_certain(log, key):
        return _not_asked("actions were certain where a row is equal to the one before it")
    pairs = [(key, observed)]
    if log.time is not None:
        time = keys_of(log.time)
        pairs.append((keys_of(np.column_stack([key, time])), keys_of(np.column_stack([_mixed(observed, 0), time]))))
    found = [_next_ones(log, *pair, numbers) for pair in pairs]
    best = int(np.argmin([one.tail for one in found]))
    tested = AuditTest(ROWS, ROWS_QUESTION, len(pairs), min(1.0, len(pairs) * found[best].tail))
    if not tested.fires:
        return Answer(tested)
    key = pairs[best][0]
    rows = 1 + np.flatnonzero((key[1:] == key[:-1]) & _follow(len(key), 1, numbers))
    excess = max(1, round(found[best].excess))
    severity = "doubt" if excess >= MANY * len(log) else "warning"
    sentence = "a row is equal to the one before it, in every column that was named" + " and at the same time" * best
    sentence += (
        f", {{where}}, about {excess:,} more than chance explains: they seem to have been written twice, or the "
    )
    sentence += f"action to have been drawn once for both; copies pass for evidence; {ADVICE}"
    return Answer(tested, (finding_in_rows(log, severity, ROWS, rows, sentence),))


def _not_asked(reason: str) -> Answer:
    return Answer(AuditTest(ROWS, ROWS_QUESTION, 0, None, reason))


def _is_certain(log: Log, key: np.ndarray) -> bool:
    """True if there are rows that are equal to the one before, and the actions of all of these had to be taken."""
    same = key[1:] == key[:-1]
    return bool(same.any() and (_log_chances(log)[1:][same] == 0).all())


class _More(NamedTuple):
    """How many rows or episodes are equal to the one before, beyond chance."""

    excess: float
    tail: float  # the probability of so many by chance, or a bound on it


def _next_ones(log: Log, key: np.ndarray, observed: np.ndarray, numbers: np.ndarray | None = None) -> _More:
    """Return what both ways to tell chance agree on; `key` is of all in a row, `observed` of what it observes."""
    action, place = _by_action(log, observed, numbers), _by_place(key, numbers)
    return _More(min(action.excess, place.excess), max(action.tail, place.tail))


def _by_action(log: Log, observed: np.ndarray, numbers: np.ndarray | None = None) -> _More:
    """Count rows that have the action of the one before, where both observe alike.

    Where only the chosen action's propensity is known, two rows count as having the same action only if that propensity
    is the same, too: where it has changed, how likely the earlier action was in the later row is not known.
    """
    p, action = log.propensity, log.action
    assert p is not None
    rows = 1 + np.flatnonzero((observed[1:] == observed[:-1]) & _follow(len(log), 1, numbers))
    same = action[rows] == action[rows - 1]
    if p.ndim == 1:
        chance = p[rows - 1].astype(np.float64)
        same &= p[rows] == chance
    else:
        chance = p[rows, action[rows - 1]].astype(np.float64)
    more, others = float(same.sum() - chance.sum()), float((1 - chance).sum())
    tail = float(freedman(more, (chance * (1 - chance)).sum()))
    return _More(more * len(rows) / others if others > 0 else 0.0, tail)  # a copy may have had the action by chance


def _by_place(key: np.ndarray, numbers: np.ndarray | None = None) -> _More:
    """Count rows that are equal to the one before, and compare them with those equal to one up to `FAR` rows before.

    In a log that changes slowly these are as many. In one that is sorted in stretches they are the fewer the farther
    rows are apart, which is drawn on to the distance of 1.
    """
    from scipy.special import betainc

    distances = range(1, min(FAR, len(key) - 1) + 1)
    found = [int(((key[d:] == key[:-d]) & _follow(len(key), d, numbers)).sum()) for d in distances]
    found += [0] * (FAR - len(found))
    by_chance = max(float(np.mean(found[1:])), 2.0 * found[1] - found[2])
    tail = float(betainc(found[0], (FAR - 1) * by_chance + 1, 1 / FAR)) if found[0] else 1.0
    return _More(found[0] - by_chance, tail)


def _follow(n: int, distance: int, numbers: np.ndarray | None) -> np.ndarray | bool:
    """Return a mask of the pairs of rows at a distance; where the log is a sample, those apart by more do not count."""
    return True if numbers is None else numbers[distance:] - numbers[: n - distance] == distance


def _few_tail(n_hits: int, n: int) -> float:
    """Return a bound on the probability of so few hits, where each has probability 1/2 or more given those before.

    It holds wherever one stops counting (Ville's inequality for a mixture of likelihood ratios), so `n` may depend on
    the hits: a log of so many rows has the fewer runs of equal rows the longer they are.
    """
    from scipy.special import betainc, betaln

    if 2 * n_hits >= n:
        return 1.0  # no likelihood ratio is above 1
    a, b = n_hits + 1, n - n_hits + 1
    return min(1.0, float(np.exp(-(n + 1) * np.log(2) - betaln(a, b)) / betainc(a, b, 0.5)))


def _episode_keys(log: Log) -> np.ndarray:
    """Return a 64-bit number for each episode, equal where all columns but episode and step are equal.

    The propensities of all actions, of which there may be many, are read only in episodes that are equal without them.
    """
    p = log.propensity
    chosen = p if p is None or p.ndim == 1 else p[np.arange(len(log)), log.action]
    columns = [log.observation, log.next_observation, log.reward, chosen, log.action]
    rows = np.zeros(len(log), np.uint64)
    for number, column in enumerate(columns):
        if column is not None:
            rows += _mixed(keys_of(column), number)
    rows += _mixed(log.terminated * 2 + log.truncated, len(columns))
    found = _keys_of_places(log, rows)
    if p is not None and p.ndim == 2:
        _, group, copies = np.unique(found, return_inverse=True, return_counts=True)
        twins = np.flatnonzero(np.repeat(copies[group] > 1, np.diff(log.starts)))
        if len(twins):
            rows[twins] += _mixed(keys_of(p[twins]), len(columns) + 1)
            found = _keys_of_places(log, rows)
    return found


def _keys_of_places(log: Log, rows: np.ndarray) -> np.ndarray:
    """Return a number for each episode, equal where it has the same numbers of rows in the same order."""
    place = np.arange(len(log)) - np.repeat(log.starts[:-1], np.diff(log.starts))
    return np.add.reduceat(keys_of(np.column_stack([rows, place.astype(np.uint64)])), log.starts[:-1])


def _mixed(key: np.ndarray, number: int) -> np.ndarray:
    return keys_of(np.column_stack([key.astype(np.uint64), np.full(len(key), number, np.uint64)]))


def _copies_tail(copies: np.ndarray) -> float:
    """Return a bound on the probability of so many episodes that occur exactly twice.

    Of independent episodes the numbers that occur once, twice and three times, f1, f2 and f3, have expectations with
    (2 f2)^2 <= f1 * 6 f3 (Cauchy and Schwarz on the moments of their rates). Each number is bounded by Poisson's tail.
    """
    from scipy.special import gammainccinv, gammaincinv

    f1, f2, f3 = (int((copies == times).sum()) for times in (1, 2, 3))
    if not f2:
        return 1.0
    chance = np.exp(-np.arange(0.0, 60.0, 0.25))  # that one bound is wrong
    lowest, highest_1, highest_3 = gammaincinv(f2, chance), gammainccinv(f1 + 1, chance), gammainccinv(f3 + 1, chance)
    broken = 4 * lowest**2 > 6 * highest_1 * highest_3
    return min(1.0, 3 * float(chance[broken].min(initial=1.0)))


def _copies_beyond_chance(copies: np.ndarray) -> float:
    """Return how many more episodes occur twice than the numbers of those that do once and three times explain."""
    f1, f2, f3 = (int((copies == times).sum()) for times in (1, 2, 3))
    return float(f2 - np.sqrt(6.0 * f1 * f3) / 2)


def _log_chances(log: Log) -> np.ndarray:
    """Return, for each episode, the logarithm of the probability of one with the same actions."""
    p = log.propensity
    assert p is not None
    chosen = p if p.ndim == 1 else p[np.arange(len(log)), log.action]
    return np.add.reduceat(np.log(chosen), log.starts[:-1])


def _n_pairs(log: Log) -> float:
    """Return the number of pairs of episodes with one opening."""
    sizes = np.unique(_openings(log), return_counts=True)[1]
    return float((sizes * (sizes - 1) / 2).sum())


def _openings(log: Log) -> np.ndarray:
    return keys_of(log.observation[log.starts[:-1]])


def _rarest_tail(log: Log, twins: np.ndarray, n_pairs: float) -> float:
    """Return a bound on the probability of the least likely pair of equal episodes, of which `twins` is a mask."""
    return float(np.exp(_log_chances(log)[twins].min())) * n_pairs if twins.any() else 1.0


def _next_with_its_opening(log: Log, key: np.ndarray) -> _More:
    """Count episodes that are equal to the one before with their opening."""
    opening, chances = _openings(log), _log_chances(log)
    order = np.argsort(opening, kind="stable")
    one, other = order[:-1], order[1:]
    alike = opening[one] == opening[other]
    chance = np.exp(chances[one][alike])
    more = float((key[one] == key[other])[alike].sum() - chance.sum())
    return _More(more, float(freedman(more, (chance * (1 - chance)).sum())))


def _equal_by_chance(log: Log, later: np.ndarray) -> float:
    """Return a bound on how many episodes are equal to an earlier one by chance; `later` is a mask of those that are.

    The chance of each is at most the sum of those of the distinct earlier ones with its opening.
    """
    opening = _openings(log)
    order = np.argsort(opening, kind="stable")
    chance = np.where(later, 0.0, np.exp(_log_chances(log)))[order]
    before = np.cumsum(chance) - chance
    begins = np.append(True, opening[order[1:]] != opening[order[:-1]])
    before -= before[begins][np.cumsum(begins) - 1]
    return float(np.clip(before, 0.0, 1.0).sum())
