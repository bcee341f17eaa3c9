import json
from dataclasses import replace

import numpy as np
import pytest

from understudy.logs import Log, concatenate
from understudy.logs.propensities.source import KINDS, PropensityReport, PropensitySource, joined_source

REPORT = PropensityReport(
    n_rows=100, n_episodes=20, n_parts=5, features="which of 3 observations it is", loss=0.5, loss_of_frequencies=0.6,
    scale=0.9, smallest=0.1, mean_inverse=1.01, p_value=0.4,
)  # fmt: skip
SOURCES = [
    PropensitySource(),
    PropensitySource("monte carlo", n_samples=50),
    PropensitySource("estimated", detail="from numbers", report=REPORT),
    PropensitySource("several", detail="as logged; estimated from the log"),
]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.kind)
def test_a_source_comes_back_from_json(source):
    assert PropensitySource.from_json(json.loads(json.dumps(source.to_json()))) == source


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "guessed"}, {"kind": None}, {"kind": []}, {"n_samples": 0}, {"n_samples": True}, {"n_samples": "5"},
        {"detail": None}, {"detail": "\ud800"}, {"report": []}, {"report": {}}, {"more": 1}, {"n_samples": None},
        {"report": REPORT.to_json() | {"loss": float("nan")}}, {"report": REPORT.to_json() | {"n_rows": -1}},
        {"report": REPORT.to_json() | {"loss": 10**400}}, {"report": REPORT.to_json() | {"features": 3}},
    ],
    ids=str,
)  # fmt: skip
def test_forged_sources_are_refused(changes):
    content = PropensitySource("monte carlo", n_samples=50, report=REPORT).to_json()
    with pytest.raises(ValueError, match=r"to_json|shares of draws"):
        PropensitySource.from_json(content | changes)
    with pytest.raises(ValueError, match="to_json"):
        PropensitySource.from_json("logged")


def test_every_kind_has_words():
    assert all(str(PropensitySource(kind)) for kind in KINDS)
    assert str(PropensitySource("monte carlo", n_samples=1000)) == "shares of 1,000 draws of the policy"
    assert str(PropensitySource("estimated", detail="from numbers")) == "estimated from the log, from numbers"


def test_a_report_says_what_it_cannot_see():
    assert "not in the observation cannot be seen" in str(REPORT)
    assert "p = 0.4" in repr(REPORT)
    assert "0.025 from the logged" in str(replace(REPORT, disagreement=0.025))
    assert "not tested" in str(replace(REPORT, p_value=None))


def test_a_report_is_a_table():
    frame = REPORT.to_frame()
    assert frame.to_pylist() == [REPORT.to_json()]
    assert str(frame.schema.field("n_rows").type) == "int64"
    assert "mean inverse" in REPORT._repr_html_()


def test_the_standard_error_is_that_of_a_share():
    draws = np.random.default_rng(0).binomial(40, 0.3, size=100_000) / 40
    assert PropensitySource("monte carlo", n_samples=40).standard_error(0.3) == pytest.approx(draws.std(), rel=0.02)
    assert PropensitySource().standard_error([0.3]) == 0


def test_a_log_without_propensities_has_no_source():
    columns = {"observation": [0, 1], "action": [0, 1], "reward": [0, 0], "ends": "every-row"}
    assert Log.from_columns(**columns).propensity_source is None
    log = Log.from_columns(**columns, propensity=[[0.5, 0.5], [0.2, 0.8]])
    assert log.propensity_source == PropensitySource()
    assert replace(log, propensity=None).propensity_source is None


def test_logs_of_several_sources_say_so_when_joined():
    assert joined_source([None, None]) is None
    assert joined_source([SOURCES[0], SOURCES[0]]) == SOURCES[0]
    columns = {"observation": [0, 1], "action": [0, 1], "reward": [0, 0], "ends": "every-row"}
    one = Log.from_columns(**columns, propensity=[[0.5, 0.5], [0.2, 0.8]])
    other = Log.from_columns(**columns).with_propensities([[0.5, 0.5], [0.2, 0.8]])
    joined = concatenate([one, other])
    assert str(joined.propensity_source) == "from several sources, as logged; from a table"
    assert concatenate([one, one]).propensity_source == one.propensity_source
    assert joined_source([SOURCES[0], SOURCES[2]]).is_estimated  # whoever reads it must be warned
