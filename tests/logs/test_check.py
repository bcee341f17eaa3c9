import numpy as np
import pytest

from understudy.errors import SettingError
from understudy.logs import Log, check, write
from understudy.logs.recurring import recurring
from understudy.logs.statistics.duplicates import duplicate_episodes


def test_check_takes_a_log_a_file_a_frame_or_columns(clean, tmp_path):
    pandas = pytest.importorskip("pandas")
    log = Log.from_columns(**clean)
    write(log, tmp_path / "log.parquet")
    narrow = {name: column for name, column in clean.items() if column.ndim == 1}
    renamed = pandas.DataFrame(narrow).rename(columns={"action": "arm"})
    assert str(check(log)) == str(check(tmp_path / "log.parquet")) == str(check(clean))
    assert check(renamed, action="arm").n_rows == len(log)


def test_the_counts_are_the_log_s(clean):
    audit = check(clean)
    assert (audit.n_rows, audit.n_episodes, audit.n_actions) == (len(clean["action"]), 60, 3)
    assert audit.ok


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"reward": [0.0]}, "lengths"),
        ({"reward": None}, "columns"),
        ({"rewards": [0.0]}, "columns"),
        ({"action": np.full(3, np.nan)}, "columns"),
        ({"observation": ["a", "b", ""]}, "columns"),
    ],
)
def test_columns_that_make_no_log_are_a_finding(changes, rule):
    columns = {"observation": [0, 1, 2], "action": [0, 1, 0], "reward": [0.0, 1.0, 0.0], **changes}
    audit = check(columns)
    assert not audit.ok
    assert audit.findings[0].rule == rule
    assert str(audit).startswith("no log could be made\n  error: ")


def test_a_file_that_cannot_be_read_is_a_finding(tmp_path):
    audit = check(tmp_path / "none.parquet")
    assert audit.findings[0].rule == "file"
    assert audit.to_json()["n_rows"] is None


def test_a_log_takes_no_mapping(clean):
    with pytest.raises(SettingError, match="action cannot be mapped"):
        check(Log.from_columns(**clean), action="arm")


def test_wrong_propensities_are_not_calibrated(clean):
    clean["propensity"][:, 0] += 0.5
    assert [finding.rule for finding in check(clean).findings if finding.severity == "warning"] == []


def test_errors_are_listed_first(clean):
    clean["truncated"] |= clean["terminated"]
    clean["reward"][0] = np.nan
    assert [finding.severity for finding in check(clean).findings] == ["error", "warning"]


def test_one_row_can_be_checked():
    audit = check({"observation": [0], "action": [0], "reward": [1.0], "terminated": [True]})
    assert audit.ok


def test_wrong_propensities_make_a_log_one_not_to_be_believed_that_simulators_still_take(walk):
    columns = walk(episodes=300)
    columns["propensity"] = np.full_like(columns["propensity"], 1 / 3)
    audit = check(columns)
    assert audit.ok
    assert not audit.believable
    assert audit.verdict == "do not believe what is simulated on this log: propensity-frequency"
    assert audit.findings[0].severity == "doubt"
    predicted = next(test for test in audit.tests if test.rule == "action-predicted")
    assert "wrong to begin with" in predicted.reason


def test_a_clean_log_is_believable_and_says_what_was_tested(walk):
    audit = check(walk(episodes=300))
    assert audit.believable
    assert audit.verdict == "believable: of 8 tests, none speaks against this log; 1 not asked"


ONE = {"observation": [0], "action": [0], "reward": [1.0], "terminated": [True]}
LONG = {"observation": np.arange(400) % 7, "action": np.arange(400) % 2, "reward": np.ones(400), "ends": "unfinished"}
EVEN = np.full((400, 2), 0.5)


@pytest.mark.parametrize(
    ("columns", "doubts"),
    [
        (ONE, []),
        (ONE | {"propensity": [[1.0]]}, []),
        (ONE | {"propensity": [0.5], "n_actions": 2}, []),
        (ONE | {"observation": [[0.5, 0.1]]}, []),
        (LONG, []),
        (LONG | {"propensity": EVEN}, ["action-predicted"]),  # actions in turns were not drawn
        (LONG | {"propensity": EVEN[:, 0]}, ["action-predicted"]),  # recognized as uniform: the same log
        (LONG | {"ends": "every-row"}, []),
        (LONG | {"observation": np.arange(400.0), "reward": np.zeros(400)}, []),
    ],
)
def test_small_and_odd_logs_are_audited_without_inventing_anything(columns, doubts):
    audit = check(columns)
    assert audit.ok
    assert [finding.rule for finding in audit.findings if finding.severity == "doubt"] == doubts
    assert all(test.reason or test.p_value is not None for test in audit.tests)


def test_errors_come_before_any_test(clean):
    clean["reward"][0] = np.nan
    audit = check(clean)
    assert audit.tests == ()
    assert audit.verdict == "do not believe this log: it has errors, and simulators refuse it (missing)"


def test_episodes_that_are_equal_more_often_than_wrong_propensities_allow_are_no_copies():
    """Actions that are nearly always the same, and are said to be rare: by these, pairs would be copies."""
    rng = np.random.default_rng(0)
    p = np.where((action := (rng.random(4000) < 0.1).astype(int)) == 1, 0.1, 0.9)
    columns = {"observation": rng.integers(300, size=4000), "action": action, "reward": np.zeros(4000),
               "ends": "every-row", "n_actions": 3}  # fmt: skip
    assert check(columns | {"propensity": p}).believable
    wrong = check(columns | {"propensity": 1 - p})
    assert wrong.verdict == "do not believe what is simulated on this log: propensity-frequency"
    log = Log.from_columns(**columns, propensity=1 - p)
    by_propensities = duplicate_episodes(log, recurring(log.observation))  # the wrong variant
    assert by_propensities.tested.fires
    assert "where ids or times in the file tell" in by_propensities.findings[0].sentence
