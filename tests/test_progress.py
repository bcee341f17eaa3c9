import sys
from contextlib import suppress
from threading import Event
from time import sleep
from types import SimpleNamespace

import pytest

from understudy import progress
from understudy.progress import every_minute, progress_bar


@pytest.fixture
def hasty(monkeypatch):
    """Lines come at once, and then a thousand times a second."""
    monkeypatch.setattr(progress, "FIRST_AFTER", 0.001)
    monkeypatch.setattr(progress, "THEN_EVERY", 0.001)


def test_by_default_a_bar_is_shown_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with progress_bar("rehearsing", 2) as report:
        report(2)
    assert "rehearsing" in capsys.readouterr().err


def test_a_title_is_shown_as_it_is(capfd):
    with progress_bar("arm [red] of [/3]", 1, show=True) as report:
        report(1)
    assert "arm [red] of [/3]" in capfd.readouterr().err


def test_a_bar_begins_with_what_was_there_already(capfd):
    with progress_bar("rehearsing", 7, show=True, done=4):
        pass
    assert "4/7" in capfd.readouterr().err


def lines_of(capsys, **options):
    """What is said where there is no terminal, once something is."""
    said = ""
    with progress_bar("training", 1000, **options) as report:
        report(250)
        for _ in range(2000):
            sleep(0.005)
            said += capsys.readouterr().err
            if "250" in said or options.get("show") is False:
                break
    return [line for line in said.splitlines() if "250" in line]  # the first may come before the report does


def test_without_a_terminal_a_plain_line_tells_how_far_it_is_and_what_is_left(hasty, capsys):
    first = lines_of(capsys)[0]
    assert first.startswith("training: 250 of 1,000 after 0 s, about ")
    assert first.endswith(" s left")


def test_what_was_there_already_does_not_count_as_speed(hasty, capsys):
    assert lines_of(capsys, done=250)[0] == "training: 250 of 1,000 after 0 s"


def test_nothing_is_said_where_nothing_is_asked_for_nor_of_what_is_short(hasty, capsys, monkeypatch):
    assert lines_of(capsys, show=False) == []
    monkeypatch.setattr(progress, "FIRST_AFTER", 10.0)
    with progress_bar("training", 1) as report:
        report(1)
    assert capsys.readouterr().err == ""


def test_of_nothing_there_is_no_progress(hasty, capsys):
    with progress_bar("testing states", 0, show=True):
        sleep(0.02)
    assert capsys.readouterr().err == ""


def test_without_a_standard_error_nothing_is_said(hasty, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr", None)
    with progress_bar("training", 1):
        sleep(0.02)
    assert capsys.readouterr().out == ""


def test_of_what_is_nested_the_outermost_is_told(hasty, capsys):
    with progress_bar("outer", 2), progress_bar("inner", 3):
        sleep(0.05)
    said = capsys.readouterr().err
    assert "outer" in said
    assert "inner" not in said


def is_called(**options):
    """True if the function was called."""
    called = Event()
    with every_minute(called.set, **options):
        return called.wait(5 if options.get("show") is not False else 0.1)


def test_a_function_is_called_now_and_then_where_no_bar_is_drawn(hasty, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: False, raising=False)
    assert is_called()
    assert not is_called(show=False)


def test_calls_end_with_their_block(hasty):
    times = []
    with suppress(KeyError), every_minute(lambda: times.append(0), show=True):
        raise KeyError
    before = len(times)
    sleep(0.05)
    assert len(times) == before
    assert is_called()


def test_an_experiment_and_the_fit_of_an_encoder_say_how_far_they_are(hasty, capsys):
    import numpy as np

    import understudy as us

    env = us.envs.ContinuousGrid(size=3)
    log = us.Log.from_columns(**env.rollout_cells(np.full((9, 5), 0.2), steps=3000, seed=1))
    encoder = us.encoders.Homer(latent=9, max_epochs=3, annealing=10).fit(log)
    assert "training Homer: " in capsys.readouterr().err
    us.experiment(us.psrs(log, encoder), lambda seed: us.learners.Uniform(5), runs=20, compiled=False, workers=1)
    assert " of 20 after" in capsys.readouterr().err


def test_a_line_counts_what_is_finished_and_tells_the_time_by_what_is_under_way(hasty, capsys):
    with progress_bar("training", 2) as report:
        report(0.5)
        sleep(0.05)
    said = capsys.readouterr().err
    assert "training: 0 of 2 after" in said
    assert "left" in said


class Shown:
    """Stands for what IPython's `display` returns."""

    def __init__(self, first):
        self.pictures = [first]

    def update(self, picture):
        self.pictures.append(picture)


@pytest.fixture
def notebook(monkeypatch):
    """What a notebook shows: `IPython` is not installed where tests run."""
    shown = []

    def display(picture, display_id):
        assert display_id
        shown.append(Shown(picture))
        return shown[-1]

    shell = type("ZMQInteractiveShell", (), {})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(HTML=str, display=display))
    monkeypatch.setattr(progress, "BETWEEN_PICTURES", 0.0)
    return shown


def test_a_notebook_shows_a_bar_that_moves_and_at_the_end_a_line(notebook, capsys):
    with progress_bar("<b>rehearsing</b>", 4, done=1) as report:
        report(1.5)
        report(4)
    pictures = notebook[0].pictures
    assert 'value="1" max="4"' in pictures[0]
    assert 'value="1.5"' in pictures[1]
    assert "left" in pictures[1]
    assert "4 of 4" in pictures[-1]
    assert "<progress" not in pictures[-1]
    assert not any("<b>" in picture for picture in pictures)
    assert capsys.readouterr().err == ""


def test_an_error_in_a_notebook_leaves_what_was_reached(notebook):
    with suppress(ValueError), progress_bar("rehearsing", None) as report:
        report(3)
        raise ValueError
    assert "rehearsing: 3 after" in notebook[0].pictures[-1]


def test_a_notebook_shows_nothing_where_that_was_asked(notebook):
    with progress_bar("rehearsing", 2, show=False) as report:
        report(1)
    assert notebook == []
