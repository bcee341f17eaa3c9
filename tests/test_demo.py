"""The demo: recorded, audited, rehearsed, compared and drawn, the same for the same seed."""

import numpy as np
import pytest

from understudy import demo as module
from understudy.demo import EVERY, EXACT, demo, record_log


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    said = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.record_log, "__defaults__", (120,))  # episodes: a short log is enough here
        result = demo(tmp_path_factory.mktemp("demo") / "report.html", runs=2, seed=3, workers=1, tell=said.append)
    return result, said


def test_the_log_is_of_a_uniform_policy_and_the_same_for_a_seed():
    env, log = record_log(3, episodes=20)
    assert log.n_episodes == 20
    assert log.spec.n_actions == env.n_actions
    assert np.all(log.propensity == 1 / env.n_actions)
    assert record_log(3, episodes=20)[1].fingerprint == log.fingerprint != record_log(4, episodes=20)[1].fingerprint


def test_six_simulators_are_compared_with_the_true_environment(found):
    result, said = found
    assert len(result.runs) == 7
    assert [len(runs) for runs in result.runs.values()] == [2] * 7
    assert result.measured.reference == "real"
    assert result.runs["real"].about.is_real
    assert set(result.runs["real"].lengths) == {max(runs.lengths.max() for runs in result.runs.values())}
    assert result.runs["real"].about.every == EVERY
    assert result.runs["PSRS, latent states"].about.n_states == 25
    assert said[0] == f"Recorded 120 episodes, {len(result.log):,} rows, of the 5x5 grid with 4 noise bits."
    assert said[1] == str(result.audit)
    assert said[2].strip().startswith("Whether deploying QLearning (by “PSRS, observations”) is better than")
    assert said[3].strip().startswith("How far to believe this was not tested")


def test_the_page_names_every_set_and_the_verdict_on_states(found):
    text = found[0].page.read_text(encoding="utf-8")
    assert all(name in text for name in found[0].runs)
    assert "on 120 logged episodes of a noisy grid" in text
    assert 'class="states' in text


def test_exact_simulators_have_halves_and_a_forecast_where_runs_are_not_too_few(tmp_path, monkeypatch):
    monkeypatch.setattr(module.record_log, "__defaults__", (60,))
    found = demo(tmp_path / "report.html", runs=5, seed=3, workers=1, tell=lambda text: None)
    assert {name: len(runs.halves) for name, runs in found.runs.items() if runs.halves} == dict.fromkeys(EXACT, 5)
    assert set(found.measured.forecasts) == set(EXACT)
    assert "How long it was expected" in found.page.read_text(encoding="utf-8")
