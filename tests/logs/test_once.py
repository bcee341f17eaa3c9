import gc
import pickle
import weakref
from dataclasses import replace

import numpy as np

import understudy as us
from understudy.logs.once import observation_range, once_for_each_log, range_of, reward_range


def test_a_log_is_passed_through_once_and_not_kept_alive():
    asked = []

    @once_for_each_log
    def length(log):
        """Return the number of rows."""
        asked.append(len(log))
        return len(log)

    log, other = (us.record(us.envs.Grid(), episodes=3, seed=seed) for seed in range(2))
    assert [length(one) for one in (log, other, log, other)] == [len(log), len(other)] * 2
    assert len(asked) == 2
    assert length(pickle.loads(pickle.dumps(log))) == len(log)
    assert length.__doc__ == "Return the number of rows."
    gone = weakref.ref(other)
    del other
    gc.collect()
    assert gone() is None


def test_what_else_is_asked_is_found_once_for_each_of_it():
    asked = []

    @once_for_each_log
    def scaled(log, by, *, plus=0):
        asked.append((by, plus))
        return by * len(log) + plus

    log = us.record(us.envs.Grid(), episodes=2, seed=0)
    assert [scaled(log, 2), scaled(log, 2), scaled(log, 3), scaled(log, 2, plus=1), scaled(log, 2, plus=1)] == [
        2 * len(log), 2 * len(log), 3 * len(log), 2 * len(log) + 1, 2 * len(log) + 1
    ]  # fmt: skip
    assert asked == [(2, 0), (3, 0), (2, 1)]


def test_ranges_are_of_all_rows_and_both_columns():
    log = us.record(us.envs.ContinuousGrid(), episodes=5, seed=0)
    for _ in range(2):
        assert reward_range(log) == (log.reward.min(), log.reward.max())
        both = np.concatenate([log.observation, log.next_observation])
        assert np.array_equal(observation_range(log), (both.min(axis=0), both.max(axis=0)))
    changed = replace(log, reward=log.reward + 1)
    assert reward_range(changed) == (log.reward.min() + 1, log.reward.max() + 1)
    assert [int(part) for part in range_of(np.array([3, 4]), np.array([1]))] == [1, 4]


class Counted(np.ndarray):
    """An array that counts how often its smallest value was looked for."""

    looked = 0

    def min(self, *args, **kwargs):
        Counted.looked += 1
        return super().min(*args, **kwargs)


def test_runs_do_not_look_for_the_smallest_reward_again():
    """A learner that takes rewards from 0 to 1 is refused on others: each run asks, and the log is read once."""
    log = us.record(us.envs.Grid(), episodes=30, seed=0)
    log = replace(log, reward=np.clip(log.reward, 0, 1).view(Counted))
    simulator = us.qbe(log)
    before = Counted.looked
    make = lambda seed: us.learners.Exp3(5, seed=seed)  # noqa: E731
    assert make(0).reward_range is not None
    us.experiment(simulator, make, runs=5, max_steps=20, progress=False, workers=1)
    assert Counted.looked - before <= 1
