import pytest

import understudy as us
from tests.cli.test_contexts import FLAGS
from understudy.cli import main
from understudy.cli.shown_results import joined_audit, names_of_sets, shown_results
from understudy.results import ResultsFolder


def audit_of(sentence, n_rows=10):
    return us.Audit((us.Finding("warning", "rule", (), 1, sentence),), n_rows, 2, 3)


def test_equal_audits_are_one_and_different_ones_name_their_folders():
    assert joined_audit({}) is None
    assert joined_audit({"a": audit_of("x"), "b": audit_of("x")}) == audit_of("x")
    both = joined_audit({"a": audit_of("x"), "b": audit_of("y", n_rows=5)})
    assert [finding.sentence for finding in both.findings] == ["a: x", "b: y"]
    assert (both.n_rows, both.n_episodes, both.n_actions) == (10, 2, 3)


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(us.ResultsError, match="holds no results"):
        shown_results([str(tmp_path)])


def test_folders_of_one_file_are_compared_though_a_learner_needs_another_coding(mails, tmp_path, capsys):
    """Thompson sampling meets codes, and LinUCB columns of 0 and 1: the rows are the same, and so are their halves."""
    shared = [*FLAGS, "--observation", "segment", "device", "--runs", "8", "--halves", "5", "--every", "20"]
    shared += ["--no-forecast", "--no-classics"]
    for learner in ("thompson", "linucb"):
        assert main(["simulate", str(mails), *shared, "--learner", learner, "--out", str(tmp_path / learner[0])]) == 0
    capsys.readouterr()
    found = shown_results([str(tmp_path / "t"), str(tmp_path / "l")])
    one, other = (runs.about for runs in found.measured.runs.values())
    assert one.log != other.log
    assert one.log_content == other.log_content is not None
    assert list(found.measured.runs) == ["thompson", "linucb"]
    assert set(found.measured.learners.earned) == {"thompson", "linucb"}
    page = tmp_path / "both.html"
    assert main(["report", str(tmp_path / "t"), str(tmp_path / "l"), "--report", str(page)]) == 0
    told = capsys.readouterr().out
    assert "no two of them ran on the same log" not in told
    assert "“thompson”" in told
    assert "“t”" not in told


def rehearsed(folder, learner, *simulators):
    ResultsFolder(folder, "a title", {"learner": learner}, us.Audit(())).create()
    return [(folder / name).resolve() for name in simulators or ("replay",)]


def test_sets_are_named_by_learners_and_by_folders_where_two_are_alike(tmp_path):
    one, other, again = tmp_path / "one", tmp_path / "two", tmp_path / "three"
    both = [*rehearsed(one, "thompson"), *rehearsed(other, "linucb")]
    assert names_of_sets(both) == ["thompson", "linucb"]
    assert names_of_sets([*both, *rehearsed(again, "linucb")]) == ["one", "two", "three"]
    assert names_of_sets([both[0], other / "qbe", both[1]]) == ["thompson/replay", "linucb/qbe", "linucb/replay"]
    assert names_of_sets([both[0], tmp_path / "unknown" / "replay"]) == ["one", "unknown"]
    assert names_of_sets([both[0]]) == ["replay"]
