from pathlib import Path

import pytest

from understudy.reporting.naming import names_of


@pytest.mark.parametrize(
    ("folders", "names"),
    [
        (["2021/out", "2022/out"], ["2021", "2022"]),
        (["out/psrs", "out/qbe"], ["psrs", "qbe"]),
        (["a/out/psrs", "a/out/qbe", "b/out/psrs"], ["a/psrs", "a/qbe", "b/psrs"]),
        (["out", "out/psrs"], ["out", "psrs"]),
        (["one", "deeper/two"], ["one", "deeper/two"]),
        (["results"], ["results"]),
    ],
)
def test_folders_are_named_by_what_differs(folders, names):
    assert names_of([Path(folder) for folder in folders]) == names


@pytest.mark.parametrize("folders", [["a", "a/a"], ["x/a", "x/a/a", "x/a/a/a"], ["a/b", "b/a", "a/a", "b"]])
def test_no_two_folders_get_one_name(folders):
    names = names_of([Path(folder) for folder in folders])
    assert len(set(names)) == len(folders)
