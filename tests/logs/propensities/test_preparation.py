import numpy as np
import pytest

from understudy.errors import SettingError
from understudy.logs import Log, check, read, write
from understudy.logs.propensities.preparation import PropensityOptions, prepare
from understudy.logs.propensities.source import PropensitySource

COLUMNS = {"observation": [0, 1, 0, 1], "action": [0, 1, 0, 1], "reward": [0, 0, 1, 1], "ends": "every-row"}
OFF = [[0.5, 0.5], [0.49, 0.49], [0.5, 0.5], [0.51, 0.51]]


def test_sums_that_are_not_one_are_refused_with_the_row_and_the_way_out():
    (finding,) = [one for one in check({**COLUMNS, "propensity": OFF}).findings if one.severity == "error"]
    assert "sums to 0.98, not 1, in row 1, and so in 2 rows (1, 3)" in finding.sentence
    assert "renormalize=True" in finding.sentence


def test_sums_are_made_one_when_asked_and_it_is_noted(tmp_path):
    log = Log.from_columns(**COLUMNS, propensity=OFF, renormalize=True)
    assert np.allclose(log.propensity, 0.5)
    assert check(log).ok
    assert "summed to 0.98 to 1.02 in 2 of 4 rows, and were divided by their sum there" in log.notes[-1]
    assert "divided by their sum in 2 of 4 rows" in repr(log)
    write(log, tmp_path / "log.parquet")
    assert read(tmp_path / "log.parquet").propensity_source == log.propensity_source


def test_what_sums_to_one_stays_as_it_is():
    p = np.array([[0.25, 0.75]] * 4)
    log = Log.from_columns(**COLUMNS, propensity=p, renormalize=True)
    assert log.propensity_source == PropensitySource()
    assert np.shares_memory(log.propensity, p)


@pytest.mark.parametrize("row", [[-0.1, 0.5], [0.0, 0.0], [np.nan, 0.5], [np.inf, 0.5], [1e308, 1e308]])
def test_dividing_repairs_no_error(row):
    log = Log.from_columns(**COLUMNS, propensity=[[0.5, 0.5], row, [0.5, 0.5], [0.5, 0.5]], renormalize=True)
    assert not check(log).ok


@pytest.mark.parametrize(
    ("propensity", "options", "message"),
    [
        (None, PropensityOptions(n_samples=10), "n_samples= is about propensities"),
        (None, PropensityOptions(renormalize=True), "renormalize=True is about propensities"),
        (np.ones(3), PropensityOptions(renormalize=True), "needs the propensities of all actions"),
        (np.ones((3, 1)), PropensityOptions(10, True), "leave renormalize=True out"),
        (np.ones((3, 1)), PropensityOptions(10, stored=PropensitySource("table")), "came too late"),
    ],
)
def test_options_that_do_not_fit_are_refused(propensity, options, message):
    with pytest.raises(SettingError, match=message):
        prepare(propensity, 1, options)


def test_a_stored_source_is_kept():
    source = PropensitySource("estimated", detail="from numbers")
    p = np.full((3, 2), 0.5)
    assert prepare(p, 2, PropensityOptions(stored=source)) == (p, source, ())
    assert prepare(None, 2, PropensityOptions()).source is None
