"""An epoch keeps its steps and what follows them, in arrays or by kernels, and finished ones are the same together."""

import numpy as np
import pytest

from understudy.contracts import Steps
from understudy.errors import SettingError
from understudy.learners.ppo_epochs import Epoch, FinishedEpochs

N = 60


def steps_of(seed, n=N):
    rng = np.random.default_rng(seed)
    x, terminated = rng.random((n + 1, 2)), rng.random(n) < 0.1
    truncated = ~terminated & (rng.random(n) < 0.1)
    return Steps(x[:-1], rng.integers(5, size=n), rng.normal(size=n), x[1:], terminated, truncated)


def unchanged(observations):
    return np.asarray(observations, dtype=np.float64)


def value_of(x):
    return np.sin(3 * x[..., 0]) + x[..., 1]


def epoch_of(steps, cuts=(), **columns):
    """An epoch that collected steps in parts, with a cut after some of them."""
    epoch = Epoch(N, 2)
    steps = steps._replace(**columns)
    for begin, end in zip((0, *cuts), (*cuts, N), strict=True):
        epoch.collect(Steps(*(column[begin:end] for column in steps)), unchanged)
        if end in cuts:
            epoch.end_episode()
    return epoch


def write(epoch, steps, begin, end):
    """Write steps into an epoch, as kernels do."""
    new = slice(begin, end)
    epoch.observed[new], epoch.following[new] = steps.observation[new], steps.next_observation[new]
    for name in ("action", "reward", "terminated", "truncated"):
        getattr(epoch, name)[new] = getattr(steps, name)[new]
    epoch.n_steps[0] = end


def by_kernels(steps, parts):
    """The same epoch, as kernels write it, taken in after so many steps each."""
    epoch = Epoch(N, 2)
    for begin, end in zip((0, *parts), (*parts, N), strict=True):
        write(epoch, steps, begin, end)
        assert epoch.take_in(unchanged, (2,))
        assert not epoch.take_in(unchanged, (2,))
    return epoch


@pytest.mark.parametrize("seed", range(3))
def test_kernels_and_arrays_leave_the_same_epoch(seed):
    steps = steps_of(seed)
    one, other = epoch_of(steps), by_kernels(steps, (1, 30, 31))
    assert one.truncated_at == other.truncated_at
    assert len(one.truncated_at) > 0
    for ours, theirs in zip(one.finished(value_of, 0.9, 0.8), other.finished(value_of, 0.9, 0.8), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("collected", [0, 5, 30])
def test_a_cut_after_the_last_step_that_was_taken_in_ends_its_episode(collected):
    """Kernels may have collected steps of the next episode before the cut is taken in."""
    quiet = steps_of(0)._replace(terminated=np.zeros(N, bool), truncated=np.zeros(N, bool))
    cut, epoch = epoch_of(quiet, cuts=(30,)), Epoch(N, 2)
    write(epoch, quiet, 0, 30)
    epoch.take_in(unchanged, (2,))
    epoch.cut_before[0] = True
    write(epoch, quiet, 30, 30 + collected)
    assert epoch.take_in(unchanged, (2,)) == (collected > 0)
    write(epoch, quiet, 30 + collected, N)
    epoch.take_in(unchanged, (2,))
    assert epoch.truncated_at == cut.truncated_at == [29]
    np.testing.assert_array_equal(epoch.after_truncated[0], quiet.next_observation[29:30])
    np.testing.assert_array_equal(epoch.finished(value_of, 0.9, 0.8)[2], cut.finished(value_of, 0.9, 0.8)[2])
    assert not np.array_equal(cut.finished(value_of, 0.9, 0.8)[2], epoch_of(quiet).finished(value_of, 0.9, 0.8)[2])


def test_a_reward_that_is_not_finite_is_refused_from_kernels_too():
    steps = steps_of(0)
    broken = np.where(np.arange(N) == 40, np.inf, steps.reward)
    for collect in (epoch_of, lambda given: by_kernels(given, ())):
        with pytest.raises(SettingError, match="not finite"):
            collect(steps._replace(reward=broken))


def test_an_epoch_that_begins_again_is_empty():
    epoch = epoch_of(steps_of(0))
    epoch.begin()
    assert (epoch.n, epoch.truncated_at, epoch.after_truncated, epoch.after_last) == (0, [], [], None)


def test_finished_epochs_are_the_same_together():
    truncated_last = np.append(np.zeros(N - 1, bool), True)
    terminated_last = steps_of(9)._replace(terminated=truncated_last, truncated=np.zeros(N, bool))
    given = [steps_of(seed) for seed in range(4)] + [steps_of(5)._replace(truncated=truncated_last), terminated_last]
    epochs = [epoch_of(steps) for steps in given]
    together = FinishedEpochs(epochs)
    following = together.following(4)
    assert following.shape[1] % 4 == 0
    assert following.shape[1] >= max(len(epoch.bootstraps()[0]) for epoch in epochs)
    found = together.estimates(value_of(together.observed), value_of(following), 0.9, 0.8)
    for r, epoch in enumerate(epochs):
        for ours, theirs in zip(found, epoch.finished(value_of, 0.9, 0.8)[2:], strict=True):
            np.testing.assert_allclose(ours[r], theirs, rtol=1e-12, atol=1e-12)


def test_codes_are_collected_as_they_are():
    epoch = Epoch(3, None)
    codes, ends = np.array([4, 2, 5]), np.zeros(3, bool)
    epoch.collect(Steps(codes, codes, np.ones(3), codes + 1, ends, ends), lambda given: np.asarray(given))
    assert (epoch.observed.tolist(), epoch.after_last.tolist()) == ([4, 2, 5], [6])
    together = FinishedEpochs([epoch] * 2)
    assert (together.observed.shape, together.following(8).shape) == ((2, 3), (2, 8))
