import pytest

import understudy as us
from understudy.cli.shown_results import joined_audit, shown_results


def audit_of(sentence, n_rows=10):
    return us.Audit((us.Finding("warning", "rule", (), 1, sentence),), n_rows, 2, 3)


def test_equal_audits_are_one_and_different_ones_name_their_folders():
    assert joined_audit({}) is None
    assert joined_audit({"a": audit_of("x"), "b": audit_of("x")}) == audit_of("x")
    both = joined_audit({"a": audit_of("x"), "b": audit_of("y", n_rows=5)})
    assert [finding.sentence for finding in both.findings] == ["a: x", "b: y"]
    assert (both.n_rows, both.n_episodes, both.n_actions) == (15, 4, 3)


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(us.ResultsError, match="holds no results"):
        shown_results([str(tmp_path)])
