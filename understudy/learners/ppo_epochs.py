"""The epoch that PPO collects, step by step, in arrays or by kernels; and finished ones of many learners together."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from understudy.contracts import Steps
from understudy.contracts.compiling import routine
from understudy.errors import SettingError
from understudy.learners.ppo_training import estimate_advantages

Features = Callable[[Any], np.ndarray]
"""A function of observations, (n, ...), to what networks take: numbers, (n, F), or codes of one-hot inputs, (n,)."""


class Epoch:
    """The steps of an epoch, and what follows those after which no collected step begins."""

    after_last: np.ndarray | None  # the next observation of the last step, unless that step is terminal

    def __init__(self, longest: int, n_features: int | None) -> None:
        self.observed = np.empty(longest, np.int64) if n_features is None else np.empty((longest, n_features))
        self.following = np.empty_like(self.observed)  # next observations, where kernels collect; takes no memory else
        self.action, self.reward = np.empty(longest, np.int64), np.empty(longest)
        self.terminated, self.truncated = np.empty((2, longest), bool)
        self.n_steps = np.zeros(2, np.int64)  # steps that were collected, and those of them that were taken in
        self.cut_before = np.zeros(1, bool)  # True if the episode was cut after the last step that was taken in
        self.begin()

    def begin(self) -> None:
        """Forget all steps."""
        self.n_steps[:] = 0
        self.truncated_at: list[int] = []
        self.after_truncated: list[np.ndarray] = []
        self.after_last = None

    @property
    def n(self) -> int:
        """The number of steps."""
        return int(self.n_steps[0])

    def collect(self, steps: Steps, features: Features) -> None:
        """Take in consecutive steps."""
        new = slice(self.n, self.n + len(steps.action))
        self.observed[new] = features(steps.observation)
        self.action[new], self.reward[new] = steps.action, steps.reward
        self.terminated[new], self.truncated[new] = steps.terminated, steps.truncated
        self._note_ends(new, lambda which: features(steps.next_observation[which]))

    def take_in(self, features: Features, shape: tuple[int, ...]) -> bool:
        """Take in the steps that kernels have collected, of observations of this shape; True if there are any."""
        n, known = self.n_steps.tolist()
        if self.cut_before[0]:
            self._end_episode_at(known - 1)
            self.cut_before[0] = False
        if n > known:
            following = self.following[known:n]
            self._note_ends(slice(known, n), lambda which: features(following[which].reshape(-1, *shape)))
        return n > known

    def _note_ends(self, new: slice, following: Features) -> None:
        """Keep what follows truncated steps and the last one; `following` takes positions among the new steps."""
        if not np.isfinite(self.reward[new]).all():
            raise SettingError("PPO met a reward that is not finite; remove or mend such rows")
        cut = np.flatnonzero(self.truncated[new] & ~self.terminated[new])
        if len(cut):
            self.truncated_at += (cut + new.start).tolist()
            self.after_truncated.append(following(cut))
        if not self.terminated[new.stop - 1]:
            self.after_last = following(slice(-1, None))
        self.n_steps[:] = new.stop

    def end_episode(self) -> None:
        """Let the last step, if there is one, be the end of its episode: values go on, advantages do not."""
        self._end_episode_at(self.n - 1)

    def _end_episode_at(self, last: int) -> None:
        """Let the last step that was taken in be the end of its episode."""
        if self.after_last is not None and not (self.terminated[last] or self.truncated[last]):
            self.truncated[last] = True
            self.truncated_at.append(last)
            self.after_truncated.append(self.after_last)

    def bootstraps(self) -> tuple[list[int], np.ndarray]:
        """Return the steps of the finished epoch that no step follows and that are not terminal, and what follows."""
        at, after = self.truncated_at, self.after_truncated
        if self.after_last is not None and not (self.terminated[-1] or self.truncated[-1]):
            at, after = [*at, len(self.action) - 1], [*after, self.after_last]
        return at, np.concatenate([self.observed[:0], *after])

    def finished(self, values_of: Features, gamma: float, lam: float) -> tuple[np.ndarray, ...]:
        """Return the observations, actions, normalized advantages and targets of the values of the finished epoch."""
        value, over = values_of(self.observed), self.terminated | self.truncated
        next_value = np.append(value[1:], 0.0)
        next_value[self.truncated_at] = values_of(np.concatenate([self.observed[:0], *self.after_truncated]))
        if self.after_last is not None and not over[-1]:
            next_value[-1] = values_of(self.after_last)[0]
        next_value[self.terminated] = 0.0
        over[-1] = True  # nothing after the epoch's end is known
        advantage, target = np.empty_like(value), np.empty_like(value)
        estimate_advantages(self.reward, value, next_value, over, gamma, lam, advantage, target)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        return self.observed, self.action, advantage, target


class FinishedEpochs:
    """The finished epochs of R learners, as arrays of all of them."""

    def __init__(self, epochs: Sequence[Epoch]) -> None:
        self.observed, self.action, self.reward, self.terminated, self.truncated = (
            np.stack([vars(epoch)[name] for epoch in epochs])
            for name in ("observed", "action", "reward", "terminated", "truncated")
        )
        self._bootstraps = [epoch.bootstraps() for epoch in epochs]

    def following(self, multiple: int) -> np.ndarray:
        """Return what follows the steps that are bootstrapped, (R, n, ...), with zeros up to a multiple of a number."""
        most = max(1, *(len(at) for at, _ in self._bootstraps))
        shape = len(self.action), -(-most // multiple) * multiple, *self.observed.shape[2:]
        found = np.zeros(shape, self.observed.dtype)
        for ours, (at, after) in zip(found, self._bootstraps, strict=True):
            ours[: len(at)] = after
        return found

    def estimates(
        self, value: np.ndarray, following: np.ndarray, gamma: float, lam: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return normalized advantages and the targets of the values, (R, n) each, given the values of observations."""
        next_value, over = np.empty_like(value), self.terminated | self.truncated
        next_value[:, :-1], next_value[:, -1], over[:, -1] = value[:, 1:], 0.0, True
        for ours, (at, _), theirs in zip(next_value, self._bootstraps, following, strict=True):
            ours[at] = theirs[: len(at)]
        next_value[self.terminated] = 0.0
        advantage, target = np.empty_like(value), np.empty_like(value)
        estimate_each(self.reward, value, next_value, over, gamma, lam, advantage, target)
        advantage -= advantage.mean(1, keepdims=True)
        advantage /= advantage.std(1, keepdims=True) + 1e-8
        return advantage, target


@routine
def estimate_each(reward, value, next_value, over, gamma, lam, advantage, target):
    """Write the advantages and rewards-to-go of each of R epochs, (R, n)."""
    for r in range(len(reward)):
        estimate_advantages(reward[r], value[r], next_value[r], over[r], gamma, lam, advantage[r], target[r])
