import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.errors import LogError, SettingError
from understudy.logs import concatenate, read, write
from understudy.logs.naming import observation_words
from understudy.logs.selection import select

BASIC = {"observation": [0, 1, 2, 5], "action": [0, 1, 0, 1], "reward": [0.0, 0.5, 1.0, 0.0]}
ENDED = {**BASIC, "terminated": [False, False, True, True]}


def test_columns_are_mapped(tmp_path):
    table = pa.table(
        {"x": [0.0, 1.0], "y": [2.0, 3.0], "arm": ["b", "a"], "gain": [1, 0], "p_a": [0.5, 0.5], "p_b": [0.5, 0.5]}
    )
    pq.write_table(table, tmp_path / "events")  # no ending: known by its first bytes
    mapping = {"observation": ["x", "y"], "action": "arm", "reward": "gain", "propensity": ["p_a", "p_b"]}
    log = read(str(tmp_path / "events"), **mapping)
    assert log.observation.tolist() == [[0.0, 2.0]]
    assert log.spec.actions == ("a", "b")
    assert log.propensity.shape == (1, 2)


def test_scattered_entries_fill_an_array_whatever_their_order():
    names = ["observation_1_0", "observation_0_1", "observation_0_0", "observation_1_1"]
    table = pa.table({**{name: [at] * 4 for at, name in enumerate(names)}, **ENDED}).drop_columns("observation")
    assert read(table).observation[0].tolist() == [[2, 1], [0, 3]]


def test_an_array_with_holes_is_refused():
    table = pa.table({**ENDED, "observation_0": [0] * 4, "observation_2": [0] * 4}).drop_columns("observation")
    with pytest.raises(LogError, match=r"do not fill an array of shape \(3,\)"):
        read(table)


def test_an_absent_column_is_named_with_those_there_are():
    with pytest.raises(LogError, match=r"no column rewards: the columns are observation, .*did you mean reward\?"):
        read(pa.table(ENDED), reward="rewards")
    with pytest.raises(LogError, match=r"there is no column action: .* say action= which it is"):
        read(pa.table({"observation": [0], "reward": [0.0], "arm": [0]}))


def test_a_column_there_twice_is_refused():
    table = pa.table([[0], [0], [0.0], [1.0]], names=["observation", "action", "reward", "reward"])
    with pytest.raises(LogError, match="there are 2 columns named reward"):
        read(table)
    table = pa.table([[0], [0], [0.0], [1.0]], names=["observation_0", "action", "reward", "observation_0"])
    with pytest.raises(LogError, match="there are 2 columns named observation_0"):
        read(table)


def test_one_column_is_not_made_of_several():
    with pytest.raises(SettingError, match="reward is one column, not 2"):
        read(pa.table(ENDED), reward=["reward", "action"])


class TestNamesOfObservations:
    COLUMNS = {"a": [0, 1, 0, 1], "r": [0.0, 1.0, 0.0, 1.0], "end": [False, True, False, True]}  # noqa: RUF012

    def read(self, names, **columns):
        frame = pd.DataFrame(self.COLUMNS | columns)
        return read(frame, observation=names, action="a", reward="r", terminated="end")

    def test_are_the_columns_they_were_read_from(self):
        assert self.read("page", page=[1, 2, 1, 3]).spec.features == ("page",)
        assert self.read(["x", "v"], x=[1, 2, 1, 3], v=[0.5, 1, 2, 3]).spec.features == ("x", "v")

    def test_are_not_noted_where_they_say_nothing(self):
        assert self.read(None, observation=[1, 2, 1, 3]).spec.features is None
        assert self.read(None, observation_0=[1, 2, 1, 3], observation_1=[1, 2, 1, 3]).spec.features is None

    def test_are_kept_by_writing_selecting_and_concatenating(self, tmp_path):
        odd = self.read(["x\x1b\xa0", "v\n"], **{"x\x1b\xa0": [1, 2, 1, 3], "v\n": [0.5, 1, 2, 3]})
        log = self.read(["x", "v"], x=[1, 2, 1, 3], v=[0.5, 1, 2, 3])
        for one in (odd, log):
            write(one, tmp_path / "log.parquet")
            assert read(tmp_path / "log.parquet").spec == one.spec
        assert log.select([1]).spec.features == ("x", "v")
        assert concatenate([log, log]).spec.features == ("x", "v")

    def test_are_dropped_where_two_logs_differ_in_them(self):
        log = self.read(["x", "v"], x=[1, 2, 1, 3], v=[0.5, 1, 2, 3])
        other = self.read(["y", "v"], y=[1, 2, 1, 3], v=[0.5, 1, 2, 3])
        assert concatenate([log, other]).spec.features is None

    def test_do_not_make_another_log(self):
        assert self.read("page", page=[1, 2, 1, 3]).fingerprint == self.read("site", site=[1, 2, 1, 3]).fingerprint

    def test_older_files_have_none(self, tmp_path):
        table = self.rewritten(tmp_path, lambda known: known.pop("features"))
        assert read(table).spec.features is None

    @pytest.mark.parametrize("forged", [3, {"x": 1}, [1], [None], [["x"]], ["\ud800"]])
    def test_forged_ones_are_refused(self, tmp_path, forged):
        with pytest.raises(LogError, match="damaged"):
            read(self.rewritten(tmp_path, lambda known: known.update(features=forged)))

    @pytest.mark.parametrize("forged", [[], ["x"], ["x"] * 99])
    def test_too_few_or_too_many_do_no_harm(self, tmp_path, forged):
        log = read(self.rewritten(tmp_path, lambda known: known.update(features=forged)))
        assert "=0.5" in observation_words(log.spec, log.observation[0])

    def rewritten(self, tmp_path, change):
        write(self.read(["x", "v"], x=[1, 2, 1, 3], v=[0.5, 1, 2, 3]), tmp_path / "log.parquet")
        table = pq.read_table(tmp_path / "log.parquet")
        known = json.loads(table.schema.metadata[b"understudy"])
        change(known)
        pq.write_table(table.replace_schema_metadata({b"understudy": json.dumps(known)}), tmp_path / "other.parquet")
        return tmp_path / "other.parquet"


def test_an_observation_that_names_a_column_twice_is_refused():
    for role in ("observation", "next_observation"):
        with pytest.raises(SettingError, match=f"{role} names reward more than once; name each column once"):
            read(pa.table(ENDED), **{role: ["reward", "action", "reward"]})


@pytest.mark.parametrize(
    "names",
    [
        ["observation_0_0", "observation_9999999_9999999"],
        ["observation_0", "observation_0_1"],
        ["observation_0", "observation_00"],
        ["observation_999999999_999999999_999999999"],
        ["observation" + "_0" * 100],
        ["observation" + "_0" * 10_000],
    ],
)
def test_names_that_fill_no_array_are_refused_at_once(names):
    table = pa.table({**{name: [0] * 4 for name in names}, **ENDED}).drop_columns("observation")
    with pytest.raises(LogError, match="do not fill an array of shape") as refused:
        read(table)
    assert len(str(refused.value)) < 300


def test_columns_of_ten_thousand_pixels_are_laid_out_at_once():
    names = [f"observation_{x}_{y}" for x in range(100) for y in range(100)]
    table = pa.table({**{name: [at] * 4 for at, name in enumerate(names)}, **ENDED}).drop_columns("observation")
    assert read(table).observation[0].tolist() == np.arange(10_000).reshape(100, 100).tolist()


@pytest.mark.parametrize("wanted", [3, [1, 2], [None], {"a": 3}])
def test_what_names_no_column_is_refused(wanted):
    with pytest.raises(SettingError, match=r"does not name columns|must be a list of distinct strings"):
        read(pa.table(ENDED), propensity=wanted)


@pytest.mark.parametrize(
    ("named", "roles"),
    [
        ({"observation": ["age", "reward"]}, "reward is named as observation and as reward"),
        ({"observation": ["age", "action"]}, "action is named as observation and as action"),
        ({"reward": "action"}, "action is named as action and as reward"),
        ({"terminated": "end", "truncated": "end"}, "end is named as terminated and as truncated"),
    ],
)
def test_a_column_that_is_named_twice_is_refused(named, roles):
    table = pa.table({"age": [1, 2], "action": [0, 1], "reward": [0.0, 1.0], "end": [True, True]})
    with pytest.raises(SettingError, match=f"the column {roles}; name another column for one of them"):
        read(table, **{"observation": "age", **named})


def test_what_is_known_before_the_action_may_be_observed_too():
    table = pa.table(
        {"step": [0, 1], "id": [3, 3], "age": [1, 2], "later": [2, 2], "action": [0, 1], "reward": [0, 1.0]}
    )
    log = read(
        table, observation=["age", "step", "id"], next_observation=["later", "step", "id"], episode="id",
        ends="truncated",
    )  # fmt: skip
    assert log.observation.tolist() == [[1, 0, 3], [2, 1, 3]]


def test_spaces_in_the_name_of_a_column_are_shown():
    table = pa.table({"observation": [1], " action": [0], "reward": [0.0]})
    with pytest.raises(LogError, match="it is named ' action', with spaces; remove them from the name"):
        read(table)


def test_all_missing_columns_are_named_at_once():
    table = pa.table({"day": [0], "indoor": [0.5], "mode": ["low"], "reward": [1.0]})
    with pytest.raises(LogError) as caught:
        select(table, {"observation": None, "action": None, "reward": None, "episode": "dy", "step": None})
    assert str(caught.value) == (
        "there are no columns observation, action, dy: the columns are day, indoor, mode, reward; say observation= "
        "which observation is, say action= which action is, dy may be day"
    )
    with pytest.raises(LogError, match="there is no column action: the columns are"):
        select(table, {"observation": "indoor", "action": None, "reward": None})
    with pytest.raises(LogError, match="there are no columns a, b: "):
        select(table, {"observation": ["indoor", "a"], "action": "b", "reward": None})
