from understudy.contracts.progress import progress_bar


def test_by_default_a_bar_is_shown_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with progress_bar("rehearsing", 2) as report:
        report(2)
    assert "rehearsing" in capsys.readouterr().err


def test_a_title_is_shown_as_it_is(capfd):
    with progress_bar("arm [red] of [/3]", 1, show=True) as report:
        report(1)
    assert "arm [red] of [/3]" in capfd.readouterr().err
