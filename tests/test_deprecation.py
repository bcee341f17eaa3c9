import warnings

from understudy.deprecation import warn_of_old_name


def old():
    warn_of_old_name("old()", "new()")


def test_the_warning_names_the_new_name_and_points_at_the_caller():
    with warnings.catch_warnings(record=True, action="always") as caught:
        old()
    (warning,) = caught
    assert (warning.category, str(warning.message)) == (
        DeprecationWarning,
        "old() goes with the next release; use new()",
    )
    assert warning.filename == __file__
