import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from understudy.encoders import Function, Identity, StateAudit
from understudy.encoders.state_audit import shown
from understudy.errors import EncoderError
from understudy.logs import Log
from understudy.storage import parse_json


def test_a_wrong_merge_is_named_first(merged, grid_log):
    assert not merged.ok
    assert merged.state[merged.suspicious].tolist() == [1]
    lines = str(merged).splitlines()
    assert lines[0].endswith("12,000 rows in 7 states")
    assert "1 of 7 states tested is suspicious" in lines[1]
    assert lines[3].split()[0] == "1"
    assert "  suspicious  such as " in lines[3]


def test_an_audit_is_plain_types(merged):
    content = json.loads(json.dumps(merged.to_json(), allow_nan=False))
    assert (content["ok"], content["n_states"], len(content["states"])) == (False, 7, 7)
    assert content["states"][1]["suspicious"]


def few_rows_log(n_states, rows, n_large=3, large=200, seed=0):
    """A log of one-step episodes: a few states with many rows, and many with a few; nothing depends on x."""
    rng = np.random.default_rng(seed)
    state = np.concatenate([np.repeat(np.arange(n_large), large), n_large + np.repeat(np.arange(n_states), rows)])
    x = np.column_stack([state, rng.random(len(state))])
    return Log.from_columns(
        observation=x, next_observation=np.zeros_like(x), action=rng.integers(2, size=len(x)),
        reward=rng.integers(2, size=len(x)), terminated=np.ones(len(x), dtype=bool),
    )  # fmt: skip


BY_FIRST = Function(lambda x: x[:, 0].astype(int))


def test_a_few_states_tested_of_many_do_not_reassure():
    found = BY_FIRST.audit(few_rows_log(240, rows=8))
    assert int(found.tested.sum()) == 3
    assert found.tested_share == pytest.approx(600 / 2520)
    assert (found.verdict, found.ok) == ("could not be told", False)
    lines = str(found).splitlines()
    assert "too little could be tested: 23.8% of the rows are in states that could be tested" in lines[1]
    assert "log more, or use fewer states" in lines[1]
    assert "none of" not in str(found)


def test_half_of_the_rows_are_enough_to_say_that_nothing_was_found():
    found = BY_FIRST.audit(few_rows_log(70, rows=8))
    assert 0.5 < found.tested_share < 0.55
    assert (found.verdict, found.ok) == ("nothing found", True)
    assert "none of 3 states tested is suspicious, and 51.7% of the rows are in states that could" in str(found)


def test_what_is_suspicious_is_so_however_little_could_be_tested():
    log = few_rows_log(240, rows=8)
    told = Log.from_columns(
        observation=log.observation, next_observation=log.next_observation, action=log.action,
        reward=(log.observation[:, 1] > 0.5).astype(float), terminated=log.terminated,
    )  # fmt: skip
    found = BY_FIRST.audit(told)
    assert (found.verdict, found.ok) == ("suspicious", False)
    assert found.suspicious_share == found.tested_share == pytest.approx(600 / 2520)
    assert "3 of 3 states tested are suspicious, with 23.8% of the rows" in found.sentence
    assert found.sentence.endswith("only 23.8% of the rows could be tested")


def test_states_of_one_observation_need_no_test(grid_log):
    found = Identity().audit(grid_log)
    assert (found.tested_share, found.suspicious_share, found.verdict) == (1.0, 0.0, "nothing found")
    assert not found.tested.any()
    assert found.sentence.startswith("every state is a single distinct observation: nothing is merged")
    assert len(json.dumps(found.to_json())) < 1000


def test_states_of_one_observation_do_not_make_up_for_others_that_could_not_be_tested():
    # 600 rows alone in a state of their own; 400 in states of a few observations, none with enough rows
    rng = np.random.default_rng(0)
    state = np.concatenate([np.arange(600), 600 + np.repeat(np.arange(80), 5)])
    x = np.column_stack([state, rng.random(len(state))])
    ones = np.ones(len(x), dtype=int)
    log = Log.from_columns(
        observation=x, next_observation=x, action=ones, reward=ones, terminated=ones.astype(bool), n_actions=2
    )
    found = BY_FIRST.audit(log)
    assert (found.n_single_rows, found.tested_share, found.verdict) == (600, 0.0, "could not be told")
    assert "0.0% of the rows in states of several observations are in states that could be tested" in found.sentence
    assert StateAudit.from_json(found.to_json()).sentence == found.sentence


def test_an_audit_is_the_same_once_read_again(merged, grid, grid_log):
    for found in (merged, Identity().audit(grid_log), BY_FIRST.audit(few_rows_log(5, rows=8))):
        again = StateAudit.from_json(json.loads(json.dumps(found.to_json())))
        assert again.to_json() == found.to_json()
        assert (again.sentence, again.notes, again.n_states) == (found.sentence, found.notes, found.n_states)


CONTENT = {
    "encoder": "KMeans(2)", "n_states": 3, "n_rows": 100, "n_without_state": 1, "n_following": 0, "level": 0.01,
    "same_log": True, "rows_unlisted": 9, "states": [
        {"state": 0, "rows": 60, "p_value": 0.5, "explained": 0.1, "suspicious": False},
        {"state": 4, "rows": 30, "p_value": None, "explained": None, "suspicious": False},
    ], "single": [{"state": 2, "rows": 9, "example": "page=home"}],
}  # fmt: skip
ODD = [None, True, -1, 1.5, 2, 10**30, float("nan"), float("inf"), "x", [], {}, [1], "\ud800"]


def places_of(content, at=()):
    yield at
    if isinstance(content, dict | list):
        for key in content if isinstance(content, dict) else range(len(content)):
            yield from places_of(content[key], (*at, key))


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("place", list(places_of(CONTENT)), ids=str)
def test_what_is_not_an_audit_is_refused_or_reads_as_one(place, odd):
    content = json.loads(json.dumps({"": CONTENT}))
    at = content
    for key in ("", *place)[:-1]:
        at = at[key]
    at[("", *place)[-1]] = odd
    try:
        found = StateAudit.from_json(content[""])
    except EncoderError:
        return
    assert 0 <= found.suspicious_share <= found.tested_share <= 1
    assert str(found)
    assert StateAudit.from_json(json.loads(json.dumps(found.to_json()))).to_json() == found.to_json()


@pytest.mark.parametrize("name", [name for name in CONTENT if name != "single"])
def test_what_lacks_a_part_is_refused(name):
    assert StateAudit.from_json(CONTENT).n_states == 3
    with pytest.raises(EncoderError, match="is not an audit of states"):
        StateAudit.from_json({key: value for key, value in CONTENT.items() if key != name})


def test_rows_that_do_not_add_up_are_refused():
    for change in ({"n_rows": 99}, {"n_states": 1}, {"rows_unlisted": 8}, {"n_without_state": 0}):
        with pytest.raises(EncoderError, match="is not an audit of states"):
            StateAudit.from_json(CONTENT | change)


def test_the_largest_states_of_one_observation_are_kept_and_files_without_them_read_as_before():
    alone = StateAudit.from_json(CONTENT)
    assert (alone.state.tolist(), alone.rows.tolist()) == ([0, 2, 4], [60, 9, 30])
    assert (alone.merges.tolist(), alone.examples[2]) == ([True, False, True], "page=home")
    older = StateAudit.from_json({key: value for key, value in CONTENT.items() if key != "single"})
    assert (older.state.tolist(), older.n_states, older.n_single_rows) == ([0, 4], 3, 9)
    many = few_rows_log(300, rows=8)
    found = Function(lambda x: np.where(x[:, 0] < 3, x[:, 0], 3 + np.unique(x[:, 1], return_inverse=True)[1])).audit(
        many.select(np.arange(900))
    )
    content = json.loads(json.dumps(found.to_json()))
    assert (len(content["states"]), len(content["single"])) == (3, 197)
    assert StateAudit.from_json(content).largest.shape == (200,)


def check_damaged(found, versions):
    """Each damaged file of an audit is refused, or reads as an audit."""
    for content in versions(json.dumps(found.to_json()).encode()):
        try:
            read = StateAudit.from_json(parse_json(content))
        except ValueError:  # a EncoderError, or no JSON
            continue
        assert 0 <= read.suspicious_share <= read.tested_share <= 1
        assert str(read)


def test_no_damaged_audit_is_more_than_an_audit(merged, damage):
    check_damaged(merged, lambda content: damage(content, 500, seed=0))


@pytest.mark.slow
def test_none_of_ten_thousand_damaged_audits_is_more_than_an_audit(merged, damage):
    check_damaged(merged, lambda content: damage(content, 10_000, seed=1))


@pytest.mark.parametrize(
    ("p_value", "explained", "cells"),
    [(np.nan, np.nan, ("-", "-")), (1e-9, 0.5, ("< 1e-6", "50.0%")), (0.034, 0.001, ("0.034", "0.1%"))],
)
def test_a_test_is_two_cells_of_a_table(p_value, explained, cells):
    assert shown(p_value, explained) == cells


def test_plot_still_writes_a_picture_and_says_what_replaces_it(merged, tmp_path):
    with pytest.warns(DeprecationWarning, match=r"use understudy\.plots\.states"):
        figure = merged.plot(tmp_path / "states.png")
    assert (tmp_path / "states.png").read_bytes().startswith(b"\x89PNG")
    assert figure.axes[0].get_title(loc="left").startswith("7 states, 1 suspicious")
    with (
        pytest.warns(DeprecationWarning, match="StateAudit.plot"),
        pytest.raises(EncoderError, match=r"cannot write .*; give a path that ends in"),
    ):
        merged.plot(tmp_path / "states.nonsense")


def test_the_frame_has_a_line_for_each_state(merged):
    frame = merged.to_frame()
    assert frame.column_names == ["state", "rows", "p_value", "explained", "suspicious", "merges"]
    assert frame["state"].to_pylist() == merged.state.tolist()
    assert frame["suspicious"].to_pylist() == merged.suspicious.tolist()
    assert len(frame.to_pandas()) == len(pl.from_arrow(frame)) == 7


def test_in_the_frame_a_state_that_was_not_tested_has_no_p_value(grid_log):
    frame = Identity().audit(grid_log.select(np.arange(5))).to_frame()
    assert frame["p_value"].null_count == frame.num_rows > 0


def test_a_notebook_shows_the_worst_states_first_and_obeys_no_name(merged):
    html = replace(merged, encoder="<script>")._repr_html_()
    assert "<script" not in html
    first = html[html.index("<tbody>") :].split("</tr>")[0]
    assert first.startswith('<tbody>\n<tr><th scope="row">1</th>')
    assert "suspicious" in first
    assert html.count("<tr>") == 8
