import gymnasium
import numpy as np
import pytest

from understudy.envs import record
from understudy.errors import ContractError, PolicyError, SettingError
from understudy.logs import check


class Ring(gymnasium.Env):
    """Eight cells in a ring, two actions; the walk ends at cell 4. Writes observations into one array."""

    def __init__(self, action_space=None, observation_space=None):
        self.action_space = action_space or gymnasium.spaces.Discrete(2)
        self.observation_space = observation_space or gymnasium.spaces.Box(0, 8, (1,), np.int64)
        self._cell = np.zeros(1, np.int64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._cell[0] = self.np_random.integers(4)
        return self._cell, {}

    def step(self, action):
        self._cell[0] = (self._cell[0] + 2 * action - 1) % 8
        return self._cell, float(action), bool(self._cell[0] == 4), False, {}


class FiniteRing(Ring):
    """A ring that records itself."""

    def __init__(self):
        super().__init__(observation_space=gymnasium.spaces.Discrete(8))
        self.asked = None

    def rollout(self, policy, episodes, seed, max_episode_steps):
        self.asked = (policy, episodes, seed, max_episode_steps)
        n = episodes
        return {"observation": np.arange(n), "action": np.zeros(n, int), "reward": np.zeros(n),
                "next_observation": np.arange(n), "terminated": np.ones(n, bool)}  # fmt: skip


@pytest.mark.parametrize(("name", "rules"), [("FrozenLake-v1", []), ("CartPole-v1", ["distinct-observations"])])
def test_recorded_logs_are_clean(name, rules):
    log = record(gymnasium.make(name), episodes=200, seed=3)
    audit = check(log)
    assert [finding.rule for finding in audit.findings] == rules, str(audit)
    assert log.n_episodes == 200


def test_rows_are_not_overwritten_by_the_environment():
    log = record(Ring(), episodes=50)
    assert np.all((log.next_observation - log.observation)[:, 0] % 8 == (2 * log.action - 1) % 8)


def test_the_same_seed_records_the_same_log():
    one, two, other = (
        record(gymnasium.make("FrozenLake-v1"), episodes=30, seed=seed).fingerprint for seed in (1, 1, 2)
    )
    assert one == two != other


def test_propensities_are_the_policy_s_and_actions_are_drawn_from_them():
    log = record(Ring(), lambda cell: [0.9, 0.1] if cell[0] % 2 else [0.3, 0.7], episodes=300)
    odd = log.observation[:, 0] % 2 == 1
    assert np.all(log.propensity[odd] == [0.9, 0.1])
    assert abs(log.action[odd].mean() - 0.1) < 0.05
    assert check(log).ok


def test_an_action_of_probability_zero_is_never_taken():
    log = record(Ring(), lambda cell: [0.0, 1.0], steps=500)
    assert np.all(log.action == 1)


def test_steps_cut_the_last_episode_short():
    log = record(Ring(), lambda cell: [0.5, 0.5], steps=101)
    assert len(log) == 101
    assert log.unfinished[:-1].sum() == 0


def test_a_time_limit_truncates():
    log = record(Ring(), steps=200, max_episode_steps=3)
    assert np.diff(log.starts).max() == 3
    assert log.max_episode_steps == 3
    assert not np.any(log.terminated & log.truncated)


def test_a_time_limit_is_known_even_if_no_episode_reached_it():
    assert record(Ring(), episodes=5, max_episode_steps=10_000).max_episode_steps == 10_000


def test_a_finite_environment_records_itself():
    env = FiniteRing()
    log = record(env, lambda cell: [cell / 10, 1 - cell / 10], episodes=5, seed=7, max_episode_steps=9)
    table, *rest = env.asked
    assert rest == [5, 7, 9]
    np.testing.assert_allclose(table[:, 0], np.arange(8) / 10)
    assert np.array_equal(log.propensity, table[log.observation])


def test_passive_wrappers_do_not_hinder_it():
    env = FiniteRing()
    wrapped = gymnasium.wrappers.OrderEnforcing(gymnasium.wrappers.PassiveEnvChecker(env))
    record(wrapped, episodes=2)
    assert env.asked is not None


def test_other_wrappers_and_steps_are_recorded_step_by_step():
    for wrap, amount in ((lambda env: gymnasium.wrappers.TimeLimit(env, 5), "episodes"), (lambda env: env, "steps")):
        env = FiniteRing()
        record(wrap(env), **{amount: 2})
        assert env.asked is None


@pytest.mark.parametrize("policy", [[1.0], [0.5, 0.4], [np.nan, 1.0], [1.5, -0.5], 1])
def test_what_is_no_policy_is_refused_at_its_step(policy):
    asked = []

    def late(cell):
        asked.append(cell)
        return policy if len(asked) == 3 else [0.5, 0.5]

    with pytest.raises(PolicyError, match=r"^the policy at step 2"):
        record(Ring(), late, steps=10)


def test_a_policy_table_is_refused_by_observation():
    with pytest.raises(PolicyError, match=r"^the policy for observation 3, .*; return one probability for each"):
        record(FiniteRing(), lambda cell: [1.0] if cell == 3 else [0.5, 0.5], episodes=2)


@pytest.mark.parametrize("amount", [{}, {"episodes": 1, "steps": 1}, {"episodes": 0}, {"steps": -1}])
def test_the_amount_to_record_is_one_positive_number(amount):
    with pytest.raises(SettingError, match=r"episodes=|steps="):
        record(Ring(), **amount)


def test_spaces_a_log_cannot_hold_are_refused():
    box = gymnasium.spaces.Box(0, 1, (2,))
    with pytest.raises(ContractError, match="a log needs Discrete from 0 up"):
        record(Ring(action_space=box), steps=1)
    with pytest.raises(ContractError, match="a log needs Discrete from 0 up"):
        record(Ring(action_space=gymnasium.spaces.Discrete(2, start=1)), steps=1)
    with pytest.raises(ContractError, match=r"Dict, .*FlattenObservation"):
        record(Ring(observation_space=gymnasium.spaces.Dict({"cell": box})), steps=1)


@pytest.mark.parametrize("amount", [1.5, float("nan"), True, "3", 2**63, -1])
@pytest.mark.parametrize("name", ["episodes", "steps", "max_episode_steps"])
def test_amounts_that_no_recording_reaches_are_refused(name, amount):
    with pytest.raises(SettingError, match=rf"{name} is .*; give {name}=, a whole number from 1"):
        record(gymnasium.make("FrozenLake-v1"), **{"episodes": 1, name: amount} if name != "steps" else {name: amount})
