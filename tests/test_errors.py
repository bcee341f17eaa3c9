import inspect
import pickle
import warnings

import pytest

import understudy as us
from understudy import errors

CLASSES = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]


def test_every_error_and_warning_is_in_one_tree_and_exported():
    for kind in CLASSES:
        assert issubclass(kind, (us.UnderstudyError, us.UnderstudyWarning))
        assert getattr(us, kind.__name__) is kind


@pytest.mark.parametrize(
    "kind", [kind for kind in CLASSES if issubclass(kind, Exception) and not issubclass(kind, Warning)]
)
def test_an_error_survives_the_way_from_a_worker(kind):
    told = pickle.loads(pickle.dumps(kind("found this; do that")))
    assert type(told) is kind
    assert str(told) == "found this; do that"


def test_a_message_does_not_steer_the_terminal():
    assert str(us.SettingError("red\x1b[31m")) == "red\\x1b[31m"


def test_a_message_of_any_length_is_one_that_people_can_read():
    found = str(errors.LogError(f"the feature {'a' * 70_000} is odd; write it as text"))
    assert found.startswith("the feature aaa")
    assert found.endswith("aaa is odd; write it as text")
    assert len(found) < 1700
    assert str(errors.LogError("x" * 1600)) == "x" * 1600


def test_one_filter_silences_every_warning_of_ours():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", us.UnderstudyWarning)
        warnings.warn("few runs", us.CensoringWarning, stacklevel=1)
        with pytest.raises(UserWarning):
            warnings.warn("another", UserWarning, stacklevel=1)
