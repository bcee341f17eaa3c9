import numpy as np
import pytest

import understudy as us
from understudy.logs.complete import FEWEST, complete_part, n_complete

DRIFTS = ("reward-drift", "visit-drift", "outcome-drift", "propensity-trend")


def exported(seed, n=1200, longest=10):
    """Episodes of a world that does not change, one begun each hour; the export cuts off those under way."""
    rng = np.random.default_rng(seed)
    lengths = np.minimum(rng.geometric(0.2, n), longest)
    served = np.minimum(lengths, n // 12 - np.arange(n) // 12 + 1)  # twelve begin at a time, a step is as long
    episode = np.repeat(np.arange(n), served)
    step = np.concatenate([np.arange(k) for k in served])
    return us.Log.from_columns(
        observation=rng.integers(3, size=len(episode)), action=rng.integers(2, size=len(episode)),
        reward=(step == lengths[episode] - 1).astype(float), terminated=step == lengths[episode] - 1,
        next_observation=rng.integers(3, size=len(episode)), episode=episode,
        propensity=np.full((len(episode), 2), 0.5),
    )  # fmt: skip


def test_the_part_ends_before_the_first_unfinished_episode():
    log = exported(0)
    part = complete_part(log)
    assert part.n_episodes == n_complete(log) == np.flatnonzero(log.unfinished)[0]
    assert not part.unfinished.any()
    assert np.array_equal(part.reward, log.reward[: len(part)])


def test_a_log_without_an_unfinished_episode_is_whole():
    log = exported(0)
    finished = log.select(np.flatnonzero(~log.unfinished))
    assert complete_part(finished) is finished


@pytest.mark.parametrize(("n", "unfinished"), [(4 * FEWEST, 2 * FEWEST - 1), (FEWEST, FEWEST - 1)])
def test_where_too_few_are_left_the_log_is_whole(n, unfinished):
    nothing = np.zeros(n, int)
    log = us.Log.from_columns(
        observation=nothing, action=nothing, reward=nothing, next_observation=nothing, episode=np.arange(n),
        terminated=np.arange(n) != unfinished,
    )  # fmt: skip
    assert complete_part(log) is log


def drifts(log):
    return [one for one in us.check(log).findings if one.rule in DRIFTS]


def test_an_export_does_not_look_like_a_world_that_changed():
    """Tests of one percent each: more than 4 of 20 logs fire once in 10,000 seeds; of whole logs nearly all do."""
    assert sum(bool(drifts(exported(seed))) for seed in range(20)) <= 4


def test_the_same_tests_of_the_whole_log_would_fire(monkeypatch):
    import understudy.logs.statistics as statistics

    monkeypatch.setattr(statistics, "complete_part", lambda log: log)
    assert sum(bool(drifts(exported(seed))) for seed in range(20)) > 10


def test_a_change_before_the_first_unfinished_episode_is_found_and_said_to_be_of_that_part():
    log = exported(0)
    drifting = us.Log.from_columns(
        **{name: column for name, column in log.columns.items() if name not in ("reward", "step")},
        reward=log.reward + np.arange(len(log)) / len(log),
    )
    (finding, *_) = drifts(drifting)
    assert finding.sentence.startswith("before the first unfinished one of 1,200 episodes, ")
