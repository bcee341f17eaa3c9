"""The audit's result in words, as a table, and as plain values."""

import json
import math
from dataclasses import replace

from understudy.likeness.likeness_audit import LikenessAudit, RadiusAudit

SMALL = RadiusAudit(0.1, 0.8, 3.0, 0.01, 0.02, 0.0, 0.001, 0.02, 0.03, 0.1, 0.12)
LARGE = RadiusAudit(0.2, 1.0, 9.0, 0.05, 0.06, 0.0, 0.001, 0.08, 0.09, 0.2, 0.22)
FOUND = LikenessAudit(
    "observations()", 1000, 50, 0.99, 2.5, (SMALL, LARGE), 0.1, noise=0.3, noise_upper=0.4, repeated_share=0.9,
    reuse=False, repeats=True,
)  # fmt: skip


def test_it_prints_as_a_sentence_and_a_table():
    lines = str(FOUND).splitlines()
    assert lines[0] == "observations(): 1,000 rows of 50 episodes"
    assert "states within a distance of 0.1 may lend rows: their values differ by 2.0% of the range" in lines[1]
    assert "rows should not be served again: the value after one state and action varies by 30.0%" in lines[1]
    assert lines[3].endswith("<- chosen")
    assert not lines[4].endswith("<- chosen")
    assert repr(FOUND) == str(FOUND)


def test_every_reason_has_its_sentence():
    none = replace(FOUND, radius=None)
    assert "values may differ by 9.0% of their range, and 5% is the limit" in replace(none, lines=(LARGE,)).sentence
    leads = replace(SMALL, leads_upper=0.4)
    assert "rows lead elsewhere: values of random rewards may differ by 40%" in replace(none, lines=(leads,)).sentence
    unknown = replace(SMALL, value=math.nan, value_upper=math.nan)
    assert "too few, or too noisy, to be compared" in replace(none, lines=(unknown,)).sentence
    assert (
        "1% of the rows have a like row, and 10% is the least"
        in replace(none, lines=(replace(SMALL, like_share=0.01),)).sentence
    )
    assert "no two of them have a distance" in replace(none, lines=()).sentence
    assert "all values are equal" in replace(none, value_range=0.0).sentence
    assert "rows may be served again" in replace(FOUND, reuse=True, noise=0.01, noise_upper=0.02).sentence
    assert "5% of the rows tell" in replace(FOUND, noise_upper=0.02, repeated_share=0.05).sentence
    assert "nothing tells how much outcomes" in replace(FOUND, noise_upper=math.nan).sentence
    assert "noise of single rows is told from" in str(replace(FOUND, repeats=False))


def test_plain_values_and_frames_hold_all_numbers():
    content = FOUND.to_json()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert content["lines"][0]["value_upper"] == 0.03
    frame = FOUND.to_frame().to_pydict()
    assert frame["radius"] == [0.1, 0.2]
    assert frame["chosen"] == [True, False]
    unknown = replace(FOUND, lines=(replace(SMALL, value=math.nan),), noise=math.nan)
    assert unknown.to_json()["noise"] is None
    assert unknown.to_frame()["value"].to_pylist() == [None]
    assert replace(FOUND, lines=(), radius=None).to_frame().num_rows == 0


def test_pages_escape_it():
    assert "<table>" in FOUND._repr_html_()
    assert "&lt;b&gt;" in replace(FOUND, likeness="<b>")._repr_html_()
