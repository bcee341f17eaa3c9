from contextlib import suppress
from threading import Event
from time import sleep

from understudy.contracts.progress import progress_bar, pulse


def test_by_default_a_bar_is_shown_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with progress_bar("rehearsing", 2) as report:
        report(2)
    assert "rehearsing" in capsys.readouterr().err


def test_a_title_is_shown_as_it_is(capfd):
    with progress_bar("arm [red] of [/3]", 1, show=True) as report:
        report(1)
    assert "arm [red] of [/3]" in capfd.readouterr().err


def beats(monkeypatch, **options):
    """Whether a pulse beats."""
    monkeypatch.setattr("understudy.contracts.progress.MINUTE", 0.001)
    beat = Event()
    with pulse(beat.set, **options):
        return beat.wait(5 if options.get("show") is not False else 0.1)


def test_a_pulse_beats_where_no_bar_is_drawn(monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: False, raising=False)
    assert beats(monkeypatch)
    assert not beats(monkeypatch, show=False)


def test_a_pulse_is_over_with_what_it_is_of(monkeypatch):
    monkeypatch.setattr("understudy.contracts.progress.MINUTE", 0.001)
    times = []
    with suppress(KeyError), pulse(lambda: times.append(0), show=True):
        raise KeyError
    before = len(times)
    sleep(0.05)
    assert len(times) == before
