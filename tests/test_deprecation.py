import pytest

from understudy.deprecation import warn_of_old_name


def old():
    warn_of_old_name("old", "new")


def test_the_warning_names_the_new_name_and_points_to_the_caller():
    with pytest.warns(DeprecationWarning, match="^old is deprecated; use new$") as caught:
        old()
    assert caught[0].filename == __file__
