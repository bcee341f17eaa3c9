import json
from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from understudy.errors import ContractError, EncoderError, SettingError


@pytest.fixture(scope="module")
def log():
    return us.record(us.envs.Grid(4, slip=0.2), episodes=150, seed=0)


def merge(*cells):
    return us.encoders.Function(lambda codes: np.where(np.isin(codes, cells), 99, codes))


def fired(found):
    return [test.name for test in found.tests if test.fires]


def test_true_states_pass(log):
    found = us.selfcheck(log)
    assert found.ok
    assert not found.fires
    assert found.verdict == "nothing found by the tests of shapes, sufficiency and drift"
    assert sum(test.level for test in found.tests) <= found.level


@pytest.mark.parametrize("cells", [(1, 11), (0, 3, 6, 13), tuple(range(16))])
def test_wrong_merges_fire_by_two_tests(log, cells):
    found = us.selfcheck(log, merge(*cells))
    assert found.fires
    assert not found.ok
    assert fired(found) == ["shapes", "sufficiency"]
    assert found.verdict.startswith("not to be believed: the logging policy")


def test_a_drifting_environment_fires():
    parts = [us.record(us.envs.Grid(4, slip=slip), episodes=40, seed=3) for slip in (0.0, 0.1, 0.2, 0.3)]
    assert fired(us.selfcheck(us.concatenate(parts))) == ["drift"]


CAUSES = "the states do not tell what follows, or actions were not drawn from the propensities (us.check tests them), "
CAUSES += "or episodes that a limit ended are logged as terminated"


def test_wrong_propensities_are_found_and_named_as_a_cause():
    log = us.record(us.envs.Grid(4, slip=0.2), episodes=1000, seed=0)
    wrong = log.propensity.copy()
    wrong[:, 1] *= 1.6  # in all rows alike
    found = us.selfcheck(replace(log, propensity=wrong / wrong.sum(axis=1, keepdims=True)))
    assert fired(found) == ["shapes"]
    assert found.verdict.endswith(CAUSES)
    assert not any("all rows alike" in sentence for sentence in found.blind_to)


def test_wrong_propensities_of_actions_that_lead_to_much_the_same_are_not_seen():
    rng, n = np.random.default_rng(0), 4000
    columns = {"observation": rng.integers(0, 4, n), "action": (rng.random(n) < 0.7).astype(int)}
    columns |= {"reward": rng.normal(size=n), "terminated": rng.random(n) < 0.1}
    log = us.Log.from_columns(**columns, propensity=np.full((n, 2), 0.5))
    found = us.selfcheck(log)
    assert found.ok
    assert found.blind_to[0].startswith("wrong propensities of actions that lead to much the same")
    assert not us.check(log).believable


def test_a_limit_that_is_logged_as_the_end_is_named_as_a_cause():
    log = us.record(us.envs.Grid(4, slip=0.2), episodes=300, seed=0, max_episode_steps=12)
    assert us.selfcheck(log).ok
    ends = {"terminated": log.terminated | log.truncated, "truncated": np.zeros(len(log), bool)}
    found = us.selfcheck(replace(log, **ends, max_episode_steps=None))
    assert "shapes" in fired(found)
    assert "most in lengths of episodes" in found.verdict
    assert CAUSES in found.verdict


def test_noise_in_observations_with_the_true_states_passes():
    env = us.envs.NoisyGrid(3, size=4, slip=0.1)
    assert us.selfcheck(us.record(env, episodes=150, seed=1), us.encoders.Function(env.latent)).ok


def test_a_log_of_numbers_that_never_repeat():
    env = us.envs.ContinuousGrid()
    log = us.record(env, episodes=150, seed=0)
    assert us.selfcheck(log, us.encoders.Function(env.latent)).ok
    assert us.selfcheck(log, us.encoders.KMeans(8)).fires
    untold = us.selfcheck(log)
    assert not untold.ok
    assert not untold.fires
    assert untold.verdict.startswith("could not be told: no test of shapes")


@pytest.mark.parametrize("chosen", [False, True])
def test_without_all_propensities_what_is_left_is_said(log, chosen):
    propensity = log.propensity[np.arange(len(log)), log.action] if chosen else None
    found = us.selfcheck(replace(log, propensity=propensity))
    words = "only the chosen action's propensity was logged" if chosen else "the log has no propensities"
    assert found.ok
    assert found.tests[0].p_value is None
    assert found.verdict.startswith(
        f"nothing found by the tests of sufficiency and drift (no test of shapes, since {words}"
    )
    assert fired(us.selfcheck(replace(log, propensity=propensity), merge(1, 11))) == ["sufficiency"]


def test_few_episodes_are_not_called_fine(log):
    for n in (1, 2, 3):
        found = us.selfcheck(log.select(range(n)))
        words = f"no test of shapes, since the log has {n} episode{'s' * (n > 1)}, and its halves need 20 that ended"
        assert not found.ok
        assert not found.fires
        assert found.verdict.startswith(f"could not be told: {words}")
        assert found.verdict.endswith("nothing is left to test; log more episodes")


def test_one_endless_episode_has_the_tests_of_rows_left():
    rng = np.random.default_rng(0)
    observation, action = rng.integers(0, 4, 4000), rng.integers(0, 2, 4000)
    columns = {"action": action, "propensity": np.full((4000, 2), 0.5), "ends": "unfinished", "episode": np.zeros(4000)}
    found = us.selfcheck(us.Log.from_columns(observation=observation, reward=observation * 1.0, **columns))
    assert found.ok
    assert found.verdict.endswith("(no test of shapes, since the log has 1 episode, and its halves need 20 that ended)")
    drifting = us.Log.from_columns(observation=observation, reward=np.arange(4000) / 4000, **columns)
    assert fired(us.selfcheck(drifting)) == ["drift"]


def test_decisions_by_themselves():
    rng = np.random.default_rng(0)
    columns = {"observation": rng.integers(0, 4, 2000), "action": rng.integers(0, 2, 2000)}
    assert us.selfcheck(
        us.Log.from_columns(
            **columns, reward=rng.normal(size=2000), propensity=np.full((2000, 2), 0.5), ends="every-row"
        )
    ).ok


def test_the_same_seed_gives_the_same_answer(log):
    assert us.selfcheck(log, seed=3) == us.selfcheck(log, seed=3) != us.selfcheck(log, seed=4)


def test_it_says_what_it_cannot_see_and_shows_itself(log):
    found = us.selfcheck(log, merge(1, 11))
    text = str(found)
    assert "wrong propensities" in text
    assert "confounding" in text
    assert "fires: " in text
    assert repr(found) == text
    assert "<table>" in found._repr_html_()
    content = json.loads(json.dumps(found.to_json()))
    assert content["fires"]
    assert not content["ok"]
    assert [test["name"] for test in content["tests"]] == [
        "shapes",
        "sufficiency",
        "drift",
    ]
    frame = found.to_frame().to_pydict()
    assert frame["fires"] == [True, True, False]
    assert frame["level"] == [0.0125] * 3
    untold = us.selfcheck(log.select([0])).to_frame().to_pydict()
    assert untold["p_value"] == [None] * 3


def test_what_cannot_be_checked_is_refused(log):
    with pytest.raises(ContractError, match="is not a log"):
        us.selfcheck([1, 2])
    with pytest.raises(ContractError, match="is not an encoder"):
        us.selfcheck(log, 7)
    with pytest.raises(SettingError, match=r"level is 2; give level=, a number from 0.01 to 0.5"):
        us.selfcheck(log, level=2)
    with pytest.raises(EncoderError, match="no state for any observation"):
        us.selfcheck(log, us.encoders.Function(lambda codes: codes * 0 - 1))


def test_states_without_a_number_and_large_numbers_of_states(log):
    some = us.encoders.Function(lambda codes: np.where(codes > 13, -1, codes + 10**9))
    assert us.selfcheck(log, some).ok
    wrong = us.encoders.Function(lambda codes: np.where(np.isin(codes, [1, 11]), 10**12, codes))
    assert "most clearly in observation=1 (and 1 like it)" in us.selfcheck(log, wrong).tests[1].found


@pytest.mark.slow
def test_rates_over_many_logs():
    """100 logs each: a rate of 5% gives more than 13, and one of 90% fewer than 80, once in a thousand."""
    env = us.envs.Grid(5, slip=0.2)
    logs = [us.record(env, episodes=200, seed=seed) for seed in range(100)]
    assert sum(us.selfcheck(log).fires for log in logs) <= 13
    pairs = [np.random.default_rng(seed).permutation(24)[:2] for seed in range(100)]
    assert sum(us.selfcheck(log, merge(*pair)).fires for log, pair in zip(logs, pairs, strict=True)) >= 80
