"""Who waits sees how far it has come; who does not, sees nothing."""

from understudy.runs import experiment
from understudy.simulators import psrs


def test_by_default_nothing_is_shown_where_standard_error_is_no_terminal(log, make, capfd):
    experiment(psrs(log), make, runs=2, max_steps=10)
    assert capfd.readouterr() == ("", "")


def test_a_bar_asked_for_goes_to_standard_error_and_tells_title_and_count(log, make, capfd):
    experiment(psrs(log), make, runs=3, max_steps=10, progress=True, title="my learner")
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "my learner" in shown.err
    assert "3/3" in shown.err


def test_a_bar_without_a_title_names_the_simulator(log, make, capfd):
    experiment(psrs(log), make, runs=1, max_steps=10, progress=True)
    assert "psrs" in capfd.readouterr().err


def test_a_bar_counts_the_runs_that_were_there_already(log, make, capfd, tmp_path):
    experiment(psrs(log), make, runs=2, max_steps=10, out=tmp_path / "runs")
    experiment(psrs(log), make, runs=2, max_steps=10, out=tmp_path / "runs", progress=True)
    assert "2/2" in capfd.readouterr().err
