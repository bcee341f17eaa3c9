import json

import numpy as np

from understudy.logs import Audit, Finding
from understudy.logs.findings import errors_first, found

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
    assert str(audit).splitlines()[0] == "4,000 rows, 1 episodes, 2 actions"
    assert str(audit).splitlines()[1] == "  error: missing: reward is NaN"


def test_an_audit_is_plain_json():
    plain = Audit((ERROR,), 4, 1, 2).to_json()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["ok"] is False
    assert plain["findings"][0]["rows"] == [0]


def test_a_finding_counts_all_rows_and_names_a_few():
    finding = found("error", "missing", np.arange(1000), "reward is NaN {where}")
    assert finding.rows == (0, 1, 2, 3, 4)
    assert finding.count == 1000
    assert finding.sentence == "reward is NaN in 1,000 rows (0, 1, 2, 3, 4, ...)"
