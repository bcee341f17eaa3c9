"""Epsilon-greedy around models of others that learn row by row: scikit-learn's `partial_fit`, River's `learn_one`."""

import inspect
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, Protocol, runtime_checkable

import numpy as np

from understudy.contracts import Step
from understudy.contracts.offering import offers
from understudy.contracts.streams import LEARNER, stream_key
from understudy.errors import ContractError, SettingError
from understudy.learners.schedules import Schedule, WrittenSchedule, schedule_value
from understudy.learners.tabular import greedy_action
from understudy.settings import real, seed_of, whole


@runtime_checkable
class PartialFitModel(Protocol):
    """A model of scikit-learn's form. A classifier's `partial_fit` also takes `classes`."""

    def partial_fit(self, X: Any, y: Any) -> Any:
        """Learn from rows."""

    def predict(self, X: Any) -> Any:
        """Return the reward, or the class, that is expected of each row."""


@runtime_checkable
class PredictsProbabilities(Protocol):
    """A classifier of scikit-learn's form that tells probabilities."""

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class, in the order of the classes, for each row."""


@runtime_checkable
class LearnOneModel(Protocol):
    """A model of River's form: a row is a dict of features by name."""

    def learn_one(self, x: Any, y: Any) -> Any:
        """Learn from a row."""

    def predict_one(self, x: Any) -> Any:
        """Return the reward, or the class, that is expected of a row."""


@runtime_checkable
class PredictsProbabilitiesOfOne(Protocol):
    """A classifier of River's form that tells probabilities."""

    def predict_proba_one(self, x: Any) -> Any:
        """Return the probability of each class that was seen, by class."""


class IncrementalModel:
    """Epsilon-greedy around any model that learns row by row: predicts the reward of each action, and takes the best.

    `model` is a function that makes a new model from a seed, or a model, which is copied for each learner. It has
    `partial_fit` and `predict` (scikit-learn), or `learn_one` and `predict_one` (River). A classifier predicts which of
    `classes` the reward is, and its probabilities, where it tells them, are weighed into an expected reward.

    There is one model for each action, which sees the observation; with `shared=True` one for all, which sees the
    observation and, one-hot, the action. An observation is used as its numbers, or as `features(observation)`. Until
    a model has learned, or where it predicts NaN, its action is worth `initial`. Ties are broken at random.

        make = lambda seed: us.learners.IncrementalModel(SGDRegressor(), 4, epsilon=0.05, seed=seed)

    The loop runs in plain Python: a step takes about as long as one prediction for each action.
    """

    def __init__(
        self,
        model: Any,
        n_actions: int,
        *,
        epsilon: Schedule = 0.1,
        shared: bool = False,
        classes: Sequence[float] = (0, 1),
        features: Callable[[Any], Any] | None = None,
        initial: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.model, self.n_actions, self.shared = model, whole("n_actions", n_actions), bool(shared)
        self.epsilon, self.features, self.initial = epsilon, features, real("initial", initial)
        self.classes = tuple(sorted(classes))  # the order in which scikit-learn tells their probabilities
        self._epsilon = WrittenSchedule("epsilon", epsilon, 1.0)
        self._key = np.uint64(stream_key(seed_of(seed), LEARNER))
        self.clock = 0
        n_models = 1 if self.shared else self.n_actions
        self._models = [_as_model(_new_model(model, seed), self.classes) for _ in range(n_models)]

    @property
    def models(self) -> list[Any]:
        """The models as they have learned so far: one for each action, or one for all."""
        return [model.model for model in self._models]

    @property
    def settings(self) -> dict[str, Any]:
        """Every argument that decides what the learner does, except its seed."""
        names = ("model", "n_actions", "epsilon", "shared", "classes", "features", "initial")
        return {name: getattr(self, name) for name in names}

    def predictions(self, observation: Any) -> np.ndarray:
        """Return the reward that is expected of each action at an observation, (n_actions,)."""
        rows = np.stack([self._row(observation, action) for action in range(self.n_actions)])
        parts = [rows] if self.shared else rows[:, None]  # what each model is asked
        found = np.concatenate([self._expected(model, part) for model, part in zip(self._models, parts, strict=True)])
        return np.where(np.isfinite(found), found, self.initial)

    def _expected(self, model: Any, rows: np.ndarray) -> np.ndarray:
        return model.expected(rows) if model.has_learned else np.full(len(rows), self.initial)

    def value(self, observation: Any) -> float:
        """Return the largest reward that is expected of an action at an observation."""
        return float(self.predictions(observation).max())

    def policy(self, observation: Any) -> np.ndarray:
        self._epsilon.write(self.clock)
        epsilon = float(schedule_value(self._epsilon.array, self.clock))
        policy = np.full(self.n_actions, epsilon / self.n_actions)
        policy[greedy_action(self.predictions(observation), self._key, self.clock)] += 1.0 - epsilon
        return policy

    def learn(self, step: Step) -> None:
        self._models[0 if self.shared else step.action].learn(self._row(step.observation, step.action), step.reward)
        self.clock += 1

    def _row(self, observation: Any, action: int) -> np.ndarray:
        """Return what a model sees of an observation and an action."""
        seen = observation if self.features is None else self.features(observation)
        row = np.asarray(seen, dtype=np.float64).reshape(-1)
        return np.concatenate([row, np.arange(self.n_actions) == action]) if self.shared else row

    def __repr__(self) -> str:
        return f"IncrementalModel({self.model!r}, {self.n_actions}, epsilon={self.epsilon}, shared={self.shared})"


class _SklearnModel:
    """A model of scikit-learn's form."""

    def __init__(self, model: Any, classes: tuple[float, ...]) -> None:
        self.model, self.has_learned = model, False
        self.classes = np.array(classes) if "classes" in inspect.signature(model.partial_fit).parameters else None

    def learn(self, row: np.ndarray, reward: float) -> None:
        if self.classes is None:
            self.model.partial_fit(row[None], np.array([float(reward)]))
        else:
            self.model.partial_fit(row[None], np.array([_class_of(reward, self.classes)]), classes=self.classes)
        self.has_learned = True

    def expected(self, rows: np.ndarray) -> np.ndarray:
        if self.classes is not None and offers(self.model, PredictsProbabilities):
            return np.asarray(self.model.predict_proba(rows)) @ self.classes
        return np.asarray(self.model.predict(rows), dtype=np.float64).reshape(-1)


class _RiverModel:
    """A model of River's form; features are named x0, x1, and so on."""

    def __init__(self, model: Any, classes: tuple[float, ...]) -> None:
        self.model, self.has_learned = model, False
        self.classes = np.array(classes) if offers(model, PredictsProbabilitiesOfOne) else None

    def learn(self, row: np.ndarray, reward: float) -> None:
        outcome = float(reward) if self.classes is None else _class_of(reward, self.classes).item()
        is_binary = self.classes is not None and self.classes.tolist() == [0, 1]
        self.model.learn_one(_named(row), bool(outcome) if is_binary else outcome)
        self.has_learned = True

    def expected(self, rows: np.ndarray) -> np.ndarray:
        if self.classes is None:
            return np.array([float(self.model.predict_one(_named(row))) for row in rows])
        chances = [self.model.predict_proba_one(_named(row)) for row in rows]
        return np.array([sum(float(found) * chance for found, chance in one.items()) for one in chances])


def _named(row: np.ndarray) -> dict[str, float]:
    return {f"x{i}": float(number) for i, number in enumerate(row)}


def _class_of(reward: float, classes: np.ndarray) -> Any:
    """Return the class that a reward is. Raise `SettingError` where it is none of them."""
    found = np.flatnonzero(classes == reward)
    if not len(found):
        raise SettingError(
            f"a reward is {reward:g}, and the classifier was told the classes {classes.tolist()}; give classes=, every "
            "reward that may come, or a model that predicts numbers"
        )
    return classes[found[0]]


def _new_model(model: Any, seed: int) -> Any:
    """Return a new model: what a function makes of the seed, or a copy."""
    if offers(model, PartialFitModel) or offers(model, LearnOneModel):
        if isinstance(model, type):
            raise ContractError(f"the model is the class {model.__name__}; give an object, {model.__name__}(...)")
        return deepcopy(model)
    return model(seed) if callable(model) else model


def _as_model(model: Any, classes: tuple[float, ...]) -> Any:
    """Return a model in the form that the learner uses. Raise `ContractError` where it is of neither form."""
    if offers(model, PartialFitModel):
        return _SklearnModel(model, classes)
    if offers(model, LearnOneModel):
        return _RiverModel(model, classes)
    raise ContractError(
        f"a {type(model).__name__} does not learn row by row: it needs partial_fit(X, y) and predict(X), or "
        "learn_one(x, y) and predict_one(x); give such a model, or a function seed -> model"
    )
