"""Models of others that learn row by row: what they are asked, and what becomes of their answers."""

import numpy as np
import pytest

import understudy as us
from understudy.contracts import Step
from understudy.errors import ContractError, SettingError
from understudy.learners import IncrementalModel, Linear
from understudy.testing import check_learner

ENV = us.envs.LinearBandit(3, 3, seed=2)
LOG = us.record(ENV, episodes=200, seed=0)


class Regressor:
    """Least squares by stochastic gradients, in scikit-learn's form: predicting before learning raises."""

    def __init__(self, rate=0.1):
        self.rate, self.weights = rate, None

    def partial_fit(self, X, y):
        self.weights = np.zeros(X.shape[1]) if self.weights is None else self.weights
        for row, target in zip(X, y, strict=True):
            self.weights += self.rate * (target - row @ self.weights) * row
        return self

    def predict(self, X):
        return X @ self.weights


class Classifier:
    """Shares of classes, in scikit-learn's form, whatever the row."""

    def partial_fit(self, X, y, classes=None):
        if not hasattr(self, "counts"):
            self.classes_, self.counts = np.unique(classes), np.zeros(len(classes))
        self.counts += self.classes_ == y[0]
        return self

    def predict(self, X):
        return self.classes_[[self.counts.argmax()] * len(X)]


class Probabilistic(Classifier):
    def predict_proba(self, X):
        return np.tile(self.counts / self.counts.sum(), (len(X), 1))


class RiverRegressor:
    """The mean of what it has learned, in River's form."""

    def __init__(self):
        self.n, self.mean, self.names = 0, 0.0, None

    def learn_one(self, x, y):
        self.n, self.names = self.n + 1, tuple(x)
        self.mean += (y - self.mean) / self.n

    def predict_one(self, x):
        return self.mean


class RiverClassifier:
    def __init__(self):
        self.seen = []

    def learn_one(self, x, y):
        self.seen.append(y)

    def predict_one(self, x):
        return bool(self.seen)

    def predict_proba_one(self, x):
        return {found: self.seen.count(found) / len(self.seen) for found in set(self.seen)}


def step(x, action, reward):
    return Step(np.array(x), action, reward, np.array(x), True, False)


MAKERS = {
    "regressor": lambda seed: IncrementalModel(Regressor(), 3, seed=seed),
    "shared": lambda seed: IncrementalModel(lambda seed: Regressor(0.05), 3, shared=True, seed=seed),
    "river": lambda seed: IncrementalModel(RiverRegressor(), 3, seed=seed),
}


@pytest.mark.parametrize("name", MAKERS)
def test_it_keeps_the_promises_of_learners(name):
    assert len(check_learner(MAKERS[name], LOG, max_steps=60).rules) >= 10


def test_each_action_has_a_model_of_its_own_and_untaught_ones_are_worth_the_initial_value():
    learner = IncrementalModel(Regressor(rate=1.0), 3, epsilon=0.3, initial=0.5)
    learner.learn(step([1.0, 0.0], 1, 2.0))
    assert learner.predictions([1.0, 0.0]).tolist() == [0.5, 2.0, 0.5]
    assert learner.policy([1.0, 0.0]) == pytest.approx([0.1, 0.8, 0.1])
    assert learner.value([0.1, 0.0]) == 0.5
    assert [model.weights is None for model in learner.models] == [True, False, True]


def test_a_shared_model_sees_the_action():
    learner = IncrementalModel(Regressor(rate=1.0), 3, shared=True)
    learner.learn(step([0.0], 2, 4.0))
    assert learner.models[0].weights.tolist() == [0, 0, 0, 4]
    assert learner.predictions([0.0]).tolist() == [0, 0, 4]


def test_each_learner_has_fresh_models():
    model = Regressor()
    IncrementalModel(model, 2).learn(step([1.0], 0, 1.0))
    assert model.weights is None
    seeds = []
    IncrementalModel(lambda seed: seeds.append(seed) or Regressor(), 2, seed=9)
    assert seeds == [9, 9]


def test_a_classifier_tells_an_expected_reward():
    certain, sure = (IncrementalModel(model, 2, classes=(5, 0)) for model in (Classifier(), Probabilistic()))
    for learner in (certain, sure):
        for reward in (5, 0, 5, 5):
            learner.learn(step([1.0], 1, float(reward)))
    assert certain.predictions([1.0]).tolist() == [0, 5]
    assert sure.predictions([1.0]).tolist() == [0, 3.75]
    with pytest.raises(SettingError, match=r"a reward is 2, and the classifier was told the classes \[0, 5\]"):
        sure.learn(step([1.0], 0, 2.0))


def test_rivers_form():
    learner = IncrementalModel(RiverRegressor(), 2, epsilon=0.0)
    for reward in (1.0, 2.0):
        learner.learn(step([0.5, 0.25], 1, reward))
    assert learner.models[1].names == ("x0", "x1")
    assert learner.predictions([0.0, 0.0]).tolist() == [0, 1.5]
    clicks = IncrementalModel(RiverClassifier(), 2)
    for reward in (1, 0, 0, 1, 1):
        clicks.learn(step([1.0], 0, float(reward)))
    assert clicks.models[0].seen == [True, False, False, True, True]
    assert clicks.predictions([1.0]).tolist() == [0.6, 0]


def test_ties_are_broken_at_random_and_stay_until_something_is_learned():
    learner = IncrementalModel(Regressor(), 3, epsilon=0.0, seed=1)
    taken = set()
    for _ in range(30):
        assert np.array_equal(learner.policy([0.0]), learner.policy([0.0]))
        taken.add(int(learner.policy([0.0]).argmax()))
        learner.learn(step([0.0], 0, 0.0))
    assert taken == {0, 1, 2}


def test_a_prediction_that_is_not_a_number_is_worth_the_initial_value():
    learner = IncrementalModel(RiverRegressor(), 2, initial=-1.0)
    learner.learn(step([1.0], 0, float("nan")))
    assert learner.predictions([1.0]).tolist() == [-1.0, -1.0]


def test_features_and_a_schedule():
    learner = IncrementalModel(Regressor(1.0), 2, epsilon=Linear(1, 0, 2), features=lambda code: np.eye(3)[code])
    assert learner.policy(1).tolist() == [0.5, 0.5]
    learner.learn(step(1, 0, 1.0))
    learner.learn(step(2, 0, 0.0))
    assert learner.policy(1).tolist() == [1, 0]


@pytest.mark.parametrize("model", [object(), lambda seed: 3, None])
def test_what_does_not_learn_row_by_row_is_refused(model):
    with pytest.raises(ContractError, match="does not learn row by row: it needs partial_fit"):
        IncrementalModel(model, 2)


def test_a_class_is_refused():
    with pytest.raises(ContractError, match="the model is the class Regressor; give an object"):
        IncrementalModel(Regressor, 2)


def test_it_learns_a_linear_bandit():
    run = us.simulate(us.real(ENV), MAKERS["regressor"](0), 0, 1500)
    assert run.returns[500:].mean() > 0.7 * ENV.best_value(1)


def test_scikit_learns_own():
    linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not among the packages of the tests")
    for model, classes in ((linear.SGDRegressor(), (0, 1)), (linear.SGDClassifier(loss="log_loss"), (0, 1))):
        learner = IncrementalModel(model, 2, classes=classes)
        for n in range(200):
            learner.learn(step([1.0, n % 2], n % 2, float(n % 2)))
        assert learner.predictions([1.0, 1.0]).argmax() == 1


def test_rivers_own():
    linear = pytest.importorskip("river.linear_model", reason="River is not among the packages of the tests")
    for model in (linear.LinearRegression(), linear.LogisticRegression()):
        learner = IncrementalModel(model, 2)
        for n in range(200):
            learner.learn(step([1.0, n % 2], n % 2, float(n % 2)))
        assert learner.predictions([1.0, 1.0]).argmax() == 1
