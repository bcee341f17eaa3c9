import json

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from understudy.errors import LogError, visible
from understudy.logs import Audit, AuditTest, Finding, Log, check, concatenate, read
from understudy.logs.findings import errors_first, finding_in_rows
from understudy.tables import NONE

NOTE = Finding("note", "unfinished", (3,), 1, "an episode just stops")
ERROR = Finding("error", "missing", (0,), 1, "reward is NaN")


def test_errors_come_first():
    assert errors_first([NOTE, ERROR]) == (ERROR, NOTE)


def test_only_an_error_makes_an_audit_fail():
    assert Audit((NOTE,), 4, 1, 2).ok
    assert not Audit((ERROR, NOTE), 4, 1, 2).ok


def test_an_audit_shows_itself():
    audit = Audit((ERROR, NOTE), 4000, 1, 2)
    assert repr(audit) == str(audit)
    assert str(audit).splitlines()[0] == "4,000 rows, 1 episode, 2 actions"
    assert str(audit).splitlines()[1] == "  error: missing: reward is NaN"


def test_an_audit_is_plain_json():
    plain = Audit((ERROR,), 4, 1, 2).to_json()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["accepted"] is False
    assert plain["findings"][0]["rows"] == [0]


def test_a_finding_counts_all_rows_and_names_a_few():
    log = Log.from_columns(observation=[0], action=[0], reward=[0], ends="every-row")
    finding = finding_in_rows(
        log, "error", "missing", np.arange(1000), "reward is NaN {where}, {after}, from {first} on"
    )
    assert finding.rows == (0, 1, 2, 3, 4)
    assert finding.count == 1000
    where = "1,000 rows (0, 1, 2, 3, 4, ...)"
    assert finding.sentence == f"reward is NaN in {where}, after {where}, from 0 on"


def test_rows_are_named_as_in_what_was_read():
    """Rows 1 and 2 of the table are the last of the first two visits, which are dropped; row 5 has no reward."""
    table = {
        "visit": [0, 0, 1, 1, 2, 2],
        "observation": [0, 1, 0, 1, 0, 1],
        "action": [0] * 6,
        "end": [0, 0, 0, 0, 0, 1],
    }
    table["reward"] = [0, 0, 0, 0, 0, np.nan]
    named = {"episode": "visit", "terminated": "end"}
    log = read(table, **named)
    assert log.source_row.tolist() == [0, 2, 4, 5]
    rows = {one.rule: one.rows for one in check(log).findings}
    assert rows["missing"] == (5,)
    assert rows["unfinished"] == (0, 2)
    shuffled = {name: [column[row] for row in (5, 4, 0, 1, 2, 3)] for name, column in table.items()}
    shuffled["at"] = [5, 4, 0, 1, 2, 3]
    found = next(one for one in check(read(shuffled, **named, order_by="at")).findings if one.rule == "missing")
    assert found.rows == (0,)
    assert "in row 0;" in found.sentence


def test_a_log_on_disk_a_selection_and_a_joined_log_name_rows_too(tmp_path):
    table = {"visit": [0, 0, 1, 1], "observation": [0, 1, 0, 1], "action": [0] * 4, "reward": [0] * 4}
    log = read(table, episode="visit", ends="unfinished")
    assert log.source_row.tolist() == [0, 2]
    kept = read(table, episode="visit", ends="unfinished", on_disk=tmp_path / "log")
    assert kept.source_row.tolist() == [0, 2]
    assert log.select([1]).source_row is None  # rows of a selection are its own
    assert concatenate([log, log]).rows_in_source([3]) == (3,)


@pytest.mark.parametrize(
    "text", ["\x1b[31m", "a\nb", "\x07", "\x9b31m", "\u202eabc", "\ud800", "\r", "\x7f", "a\u2028b"]
)
def test_nothing_that_a_terminal_obeys_is_left_in_what_is_said(text):
    for said in (visible(text), str(LogError(f"column {text}; rename it")), str(Finding("note", text, (), 1, text))):
        assert said.isprintable()
        assert said.encode()
    assert str(Audit((Finding("note", "rule", (), 1, text),))).count("\n") == 2  # a title, a finding, a verdict


def test_text_of_all_languages_is_shown_as_it_is():
    for text in ("größer", "日本", "a\\x1b", "😀"):
        assert visible(text) == text
        assert visible(visible(text)) == text


def test_the_frame_has_a_line_for_each_finding():
    frame = Audit((ERROR, NOTE), 4, 1, 2).to_frame()
    assert frame.column_names == ["severity", "rule", "count", "rows", "sentence"]
    assert frame.to_pylist()[1] == {
        "severity": "note", "rule": "unfinished", "count": 1, "rows": [3], "sentence": "an episode just stops",
    }  # fmt: skip
    assert len(frame.to_pandas()) == len(pl.from_arrow(frame)) == 2
    assert pa.concat_tables([frame, Audit(()).to_frame()]).num_rows == 2  # nothing found: the same columns, no line


def test_a_notebook_shows_the_findings_and_obeys_none_of_their_text():
    html = Audit((Finding("note", "<script>", (), 1, "<img onerror=alert(1)>"),), 4, 1, 2)._repr_html_()
    assert "Verdict: not tested: nothing speaks against this log" in html
    assert html.startswith("<p>4 rows, 1 episode, 2 actions</p>")
    assert "<script" not in html
    assert "<img" not in html
    assert "&lt;script&gt;" in html


def test_a_doubt_leaves_a_log_usable_and_not_believable():
    doubt = Finding("doubt", "propensity-frequency", (), 1, "the actions were not drawn from them")
    audit = Audit((doubt, NOTE), 4, 1, 2)
    assert (audit.ok, audit.believable) == (True, False)
    assert audit.verdict == "do not believe what is simulated on this log: propensity-frequency"
    assert str(audit).splitlines()[-1] == f"  verdict: {audit.verdict}"
    assert Audit((NOTE,), 4, 1, 2).believable
    assert errors_first([NOTE, doubt, ERROR]) == (ERROR, doubt, NOTE)


def test_the_tests_are_a_table_and_plain_json():
    made, unmade = AuditTest("a", "Is it?", 12, 0.5), AuditTest("b", "Was it?", 0, None, "nothing to ask of")
    audit = Audit((), 4, 1, 2, (made, unmade))
    assert not made.fires
    assert audit.verdict == "believable: of 1 test, none speaks against this log; 1 not asked"
    assert audit.tests_table().rows == (
        ("a", "no", "0.5", "12", "Is it?"),
        ("b", "not asked", NONE, NONE, "Was it? Not asked: nothing to ask of."),
    )
    plain = audit.to_json()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["rates"] == {"each test": 1e-4, "all tests": 1e-3}
    assert plain["tests"][1]["reason"] == "nothing to ask of"


def test_a_test_that_fires_without_a_doubt_asks_for_care():
    fired = AuditTest("visit-drift", "Do visits drift?", 12, 0.00005)
    warning = Finding("warning", "visit-drift", (), 1, "visits fall")
    audit = Audit((warning,), 4, 1, 2, (fired,))
    assert audit.believable
    assert audit.verdict == "believable with care: read the warnings of visit-drift"
    assert audit.tests_table().rows[0][1] == "yes"
