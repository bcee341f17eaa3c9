"""Learners that are put back where an episode is passed over."""

import numpy as np
import pytest

import understudy as us
from understudy.runs.stepping_back import LearnerMemory


class Holder:
    def __init__(self):
        self.table, self.rng, self.nested = np.zeros(3), np.random.default_rng(0), {"rows": [1]}


def test_a_learner_is_put_back_with_its_random_numbers():
    learner = Holder()
    memory, expected = LearnerMemory(learner), np.random.default_rng(0).random(2).tolist()
    learner.table += 1
    learner.nested["rows"].append(2)
    learner.new = 3
    assert learner.rng.random(2).tolist() == expected
    memory.put_back(learner)
    assert learner.table.tolist() == [0, 0, 0]
    assert learner.nested == {"rows": [1]}
    assert not hasattr(learner, "new")
    assert learner.rng.random(2).tolist() == expected


def log():
    n = 40
    return us.Log.from_columns(
        observation=np.arange(n) % 2, action=np.arange(n) % 3% 2, reward=np.ones(n), terminated=np.arange(n) % 2 == 1,
        propensity=np.full(n, 0.5), n_actions=2,
    )  # fmt: skip


def test_a_learner_that_cannot_be_copied_is_refused():
    class WithLock(us.learners.Uniform):
        def __init__(self):
            super().__init__(2)
            self.lock = __import__("threading").Lock()

    with pytest.raises(
        us.ContractError, match=r"WithLock has to be put back .* cannot be copied .*; keep what it learns"
    ):
        us.simulate(us.pers(log()), WithLock())


def test_a_learner_that_ends_episodes_early_is_refused():
    class Abandons(us.learners.Uniform):
        abandons_episode = False

    with pytest.raises(us.ContractError, match=r"Abandons may end an episode early, and pers\(.* accepts whole ones"):
        us.simulate(us.pers(log()), Abandons(2))


def test_there_is_no_compiled_form():
    with pytest.raises(us.SettingError, match="has no compiled form"):
        us.simulate(us.pers(log()), us.learners.Uniform(2), compiled=True)


def test_an_experiment_of_them_is_repeated_by_its_seeds():
    runs = us.experiment(us.pers(log()), lambda seed: us.learners.QLearning(2, 2, seed=seed), runs=3, backend="serial")
    for run in runs:
        again = us.simulate(us.pers(log()), us.learners.QLearning(2, 2, seed=run.seed), run.seed)
        assert np.array_equal(run.rows, again.rows)
    assert runs.lengths.sum() > 0


class Counter:
    """Counts steps in an object that refers back to it, in a bound method's owner, and in a slot of its base class."""

    class Slotted:
        __slots__ = ("n_slotted",)

    def __new__(cls):
        class Told(cls.Slotted):
            def __init__(self):
                self.n, self.n_slotted, self.part, self.up = 0, 0, Part(self), self.count

            def count(self):
                self.n += 1

            def policy(self, observation):
                return np.array([0.5, 0.5])

            def learn(self, step):
                self.part.tell()
                self.n_slotted += 1

        return Told()


class Part:
    def __init__(self, owner):
        self.owner = owner

    def tell(self):
        self.owner.up()


def test_parts_that_refer_back_to_the_learner_and_slots_are_put_back():
    rng = np.random.default_rng(0)
    n = 900
    log = us.Log.from_columns(
        observation=np.zeros(n, int), action=rng.integers(0, 2, n), reward=np.ones(n),
        propensity=np.full((n, 2), 0.5), terminated=np.arange(n) % 3 == 2,
    )  # fmt: skip
    learner = Counter()
    run = us.simulate(us.pers(log), learner, 0)
    assert 0 < len(run) < n
    assert (learner.n, learner.n_slotted) == (len(run), len(run))
