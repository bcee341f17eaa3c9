"""How processes died, in words."""

from understudy.runs.deaths import WorkersDied, exit_in_words


def test_exit_codes_are_named_once_each():
    assert exit_in_words([-9, -9, 1]) == " (exit SIGKILL(-9), EXIT(1))"
    assert exit_in_words([-1000]) == " (exit EXIT(-1000))"
    assert exit_in_words([]) == ""


def test_it_says_where_workers_were():
    error = WorkersDied({3}, exit_in_words([-11]))
    assert error.places == {3}
    assert str(error) == "worker processes died (exit SIGSEGV(-11))"
