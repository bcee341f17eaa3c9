"""Bandit learners that keep a mean reward of each action: epsilon-greedy, UCB1 and Thompson sampling.

Without `n_observations` and `encoder` they ignore what is observed: a plain bandit. With the former they keep a row for
each observation, where observations are codes; with the latter for each of its states, and observations of several
columns need one: `encoder=Identity().fit(log)` has a state for each distinct observation. They learn from every step by
itself and bootstrap nothing.
"""

from typing import Any

from understudy.contracts import Encoder
from understudy.errors import SettingError
from understudy.learners.arm_means import BERNOULLI, EPSILON_GREEDY, GAUSSIAN, UPPER_BOUND, MeanLearner
from understudy.learners.arms import LARGEST, SMALLEST, reward_limits
from understudy.learners.schedules import Schedule
from understudy.settings import real


class EpsilonGreedy(MeanLearner):
    """Takes the action of the largest mean reward, and with probability epsilon any action.

    `alpha` is the step size: None gives each reward the same weight, a number such as .05 follows rewards that drift.
    `initial` is the mean of an action that was not taken yet. Epsilon and alpha may be schedules. Ties are broken at
    random, afresh at every step.

    >>> EpsilonGreedy(4, epsilon=0.2).policy("anything").max().round(3)
    np.float64(0.85)
    """

    def __init__(
        self,
        n_actions: int,
        *,
        n_observations: int | None = None,
        epsilon: Schedule = 0.1,
        alpha: Schedule | None = None,
        initial: float = 0.0,
        encoder: Encoder | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(
            n_actions, n_observations, encoder, seed,
            rule=EPSILON_GREEDY, exploration=("epsilon", epsilon, 1.0), alpha=alpha, initial=initial,
        )  # fmt: skip
        self.epsilon, self.alpha, self.initial = epsilon, alpha, float(initial)

    @property
    def settings(self) -> dict[str, Any]:
        """Every argument that decides what the learner does, except its seed."""
        return self.table_settings | {"epsilon": self.epsilon, "alpha": self.alpha, "initial": self.initial}


class UCB1(MeanLearner):
    """Takes the action of the largest upper confidence bound (Auer et al. 2002); each action is tried once first.

    The bound is mean + exploration * sqrt(2 ln t / n), with t steps so far at this observation and n of them with the
    action. It is made for rewards from 0 to 1: for others give `exploration` their range. It may be a schedule.

    >>> UCB1(4).policy(0).max()
    np.float64(1.0)
    """

    def __init__(
        self,
        n_actions: int,
        *,
        n_observations: int | None = None,
        exploration: Schedule = 1.0,
        encoder: Encoder | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(
            n_actions, n_observations, encoder, seed,
            rule=UPPER_BOUND, exploration=("exploration", exploration, LARGEST),
        )  # fmt: skip
        self.exploration = exploration

    @property
    def settings(self) -> dict[str, Any]:
        """Every argument that decides what the learner does, except its seed."""
        return self.table_settings | {"exploration": self.exploration}


class Thompson(MeanLearner):
    """Thompson sampling: takes the action whose mean reward, drawn from its posterior, is the largest.

    With `reward="bernoulli"` rewards are 0 or 1, or shares between them, or numbers in `reward_range`, which are scaled
    to [0, 1]; the prior of each mean is Beta(*prior), by default (1, 1). With `reward="gaussian"` a reward has standard
    deviation `noise`, and the prior of its mean is a normal one with mean and deviation `prior`, by default (0, 1).

    The policy is one action, decided by the draw of the current step: asking again gives the same one until the learner
    has learned. That is exact under replay, too. There a candidate row may be passed over, and the policy be asked for
    at the next observation with the same draw; but a candidate is accepted with probability 1/M whatever the policy is:
    being passed over tells nothing of the draw, and the accepted observation is as independent of it as a real one.

    >>> Thompson(3, seed=1).policy(0).max()
    np.float64(1.0)
    """

    def __init__(
        self,
        n_actions: int,
        *,
        reward: str = "bernoulli",
        prior: tuple[float, float] | None = None,
        noise: float = 1.0,
        reward_range: tuple[float, float] | None = None,
        n_observations: int | None = None,
        encoder: Encoder | None = None,
        seed: int = 0,
    ) -> None:
        if reward not in ("bernoulli", "gaussian"):
            raise SettingError(f"reward is {reward!r}; give reward=, 'bernoulli' or 'gaussian'")
        is_bernoulli = reward == "bernoulli"
        if not is_bernoulli and reward_range is not None:
            raise SettingError("reward_range= is for reward='bernoulli'; leave it out, and give prior= and noise=")
        self.reward, self.noise = reward, real("noise", noise, SMALLEST, LARGEST)
        one, other = ((1.0, 1.0) if is_bernoulli else (0.0, 1.0)) if prior is None else prior
        least = SMALLEST if is_bernoulli else -LARGEST
        self.prior = (real("prior", one, least, LARGEST), real("prior", other, SMALLEST, LARGEST))
        self.reward_range = reward_limits(reward_range or (0.0, 1.0)) if is_bernoulli else None
        super().__init__(
            n_actions, n_observations, encoder, seed,
            rule=BERNOULLI if is_bernoulli else GAUSSIAN, exploration=("exploration", 0.0, 1.0),
            prior=(*self.prior, self.noise),
        )  # fmt: skip

    @property
    def settings(self) -> dict[str, Any]:
        """Every argument that decides what the learner does, except its seed."""
        settings = {"reward": self.reward, "prior": self.prior, "reward_range": self.reward_range}
        return self.table_settings | settings | ({} if self.reward == "bernoulli" else {"noise": self.noise})
