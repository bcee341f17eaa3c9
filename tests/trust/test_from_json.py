from dataclasses import replace

import numpy as np
import pytest

from understudy.envs import Grid
from understudy.logs import Audit, AuditTest, Finding, Log
from understudy.trust import Forecast, selfcheck
from understudy.trust.from_json import audit_from_json, forecast_from_json, selfcheck_from_json

AUDIT = Audit(
    (Finding("warning", "rule", (1, 2), 2, "a sentence"),), n_rows=20, n_episodes=2, n_actions=4,
    tests=(AuditTest("rule", "is it?", 3, 0.5), AuditTest("other", "was it?", 0, None, "there is none")),
)  # fmt: skip
FORECAST = Forecast(40, (30, 60), 0.9, 5, {"state 3 has no row left": 0.6, "<openings>": 0.4}, 19, 0)
SELFCHECK = selfcheck(Log.from_columns(**Grid(3).rollout(np.full((9, 5), 0.2), 20, seed=0)))


def test_what_was_written_comes_back():
    assert audit_from_json(AUDIT.to_json()) == AUDIT
    assert selfcheck_from_json(SELFCHECK.to_json()) == SELFCHECK
    assert forecast_from_json(FORECAST.to_json()) == FORECAST


def test_audits_written_before_there_were_tests_are_read():
    before = {name: value for name, value in AUDIT.to_json().items() if name in ("findings", "n_rows", "n_episodes")}
    assert audit_from_json(before | {"n_actions": 4}) == replace(AUDIT, tests=())
    with pytest.raises(ValueError, match="p_value"):
        audit_from_json(AUDIT.to_json() | {"tests": [AUDIT.to_json()["tests"][0] | {"p_value": "small"}]})


def test_a_self_check_that_could_test_nothing_comes_back_so():
    untested = replace(SELFCHECK, tests=(), tested_states=False)
    assert selfcheck_from_json(untested.to_json()) == untested


@pytest.mark.parametrize(
    "wrong",
    [{"tests": 3}, {"tests": [{}]}, {"tests": ["x"]}, {"level": "x"}, {"ok": 1}, {"blind_to": [3]}, {"n_rows": -1}],
)
def test_a_self_check_with_values_of_another_type_is_refused(wrong):
    with pytest.raises((ValueError, KeyError, TypeError)):
        selfcheck_from_json(SELFCHECK.to_json() | wrong)


@pytest.mark.parametrize(
    "wrong", [{"steps": "x"}, {"interval": [1]}, {"interval": 3}, {"runs_out": {"a": "x"}}, {"runs_out": []}]
)
def test_a_forecast_with_values_of_another_type_is_refused(wrong):
    with pytest.raises((ValueError, KeyError, TypeError)):
        forecast_from_json(FORECAST.to_json() | wrong)
