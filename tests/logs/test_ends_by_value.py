import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import understudy as us
from understudy.cli import main
from understudy.errors import LogError, SettingError

TABLE = {
    "visit": [1, 1, 2, 3, 3, 3],
    "observation": [0, 1, 0, 0, 1, 2],
    "action": [0, 1, 1, 0, 0, 1],
    "reward": [0.0, 1.0, 0.0, 0.0, 1.0, 0.0],
    "next_observation": [1, 0, 2, 1, 2, 2],
    "end": [None, "left", "bought", None, None, "timeout"],
}
FLAGS = {"terminated": [False, True, True, False, False, False], "truncated": [False] * 5 + [True]}


def test_one_column_tells_in_words_how_episodes_ended(tmp_path):
    told = {"episode": "visit", "terminated": "end=left,bought", "truncated": "end=timeout"}
    expected = us.read({name: column for name, column in TABLE.items() if name != "end"} | FLAGS, episode="visit")
    table = pa.table(TABLE)
    coded = table.set_column(table.column_names.index("end"), "end", table["end"].dictionary_encode())
    pa.csv.write_csv(table, tmp_path / "log.csv")
    pa.parquet.write_table(table, tmp_path / "log.parquet", row_group_size=2)
    sources = [TABLE, table, coded, tmp_path / "log.csv", tmp_path / "log.parquet"]
    logs = [us.read(source, **told) for source in sources]
    logs.append(us.read(tmp_path / "log.parquet", **told, on_disk=tmp_path / "on-disk"))
    for log in logs:
        for name, column in FLAGS.items():
            np.testing.assert_array_equal(log.columns[name], column)
        assert log.fingerprint == expected.fingerprint


def test_numbers_and_truth_values_have_words_too_and_a_column_of_that_very_name_comes_first():
    table = {name: column for name, column in TABLE.items() if name != "end"}
    code = [0, 2, 2, 0, 0, 1]
    log = us.read(table | {"code": code}, episode="visit", terminated="code=2", truncated="code=1")
    np.testing.assert_array_equal(log.terminated, FLAGS["terminated"])
    named = {"end": ["x"] * 6, "end=left": FLAGS["terminated"], "x=y": ["", "z", "z", "", "", ""]}
    assert us.read(table | named, episode="visit", terminated="end=left").terminated.sum() == 2
    assert us.read(table | named, episode="visit", terminated="x=y=z").terminated.sum() == 2


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (
            "end=lefft",
            "terminated column end is never 'lefft': its values are left, bought, timeout; did you mean left",
        ),
        ("end=", "terminated column end is never ''"),
        ("ende=left", "there is no column ende: .*did you mean end?"),
        ("list=left", r"terminated column list holds .*list<.*, not words"),
        ("end", r'column end has no value in row 0; .*; or say terminated="end=VALUE" where VALUE is'),
        ("filled", r"""is 'going' in row 0; give true and false, or 1 and 0; or say terminated="filled=VALUE" where"""),
    ],
)
def test_what_is_not_there_is_said(told, said):
    more = {"list": [[1]] * 6, "filled": ["going"] * 5 + ["left"]}
    with pytest.raises(LogError, match=said):
        us.read(TABLE | more, episode="visit", terminated=told)


def test_a_column_of_words_is_not_both_a_flag_and_words():
    with pytest.raises(SettingError, match="is named as terminated and as truncated"):
        us.read(TABLE, episode="visit", terminated="end=left", truncated="end")


def test_the_command_line_takes_words_and_leads_to_them(tmp_path, capsys):
    pa.csv.write_csv(pa.table(TABLE), tmp_path / "log.csv")
    command = ["check", str(tmp_path / "log.csv"), "--episode", "visit"]
    assert main([*command, "--terminated", "end=left,bought", "--truncated", "end=timeout"]) == 0
    assert "3 episodes" in capsys.readouterr().out
    assert main([*command, "--terminated", "end"]) == 2
    assert "or say --terminated end=VALUE where VALUE is what it says then" in " ".join(capsys.readouterr().err.split())


def test_a_word_that_ends_episodes_and_was_not_named_is_a_warning(tmp_path):
    pyarrow.parquet.write_table(pa.table(TABLE), tmp_path / "log.parquet", row_group_size=2)
    for source in (pa.table(TABLE), tmp_path / "log.parquet"):
        found = {one.rule: one for one in us.check(source, episode="visit", terminated="end=left").findings}
        assert found["other-words"].severity == "warning"
        assert found["other-words"].sentence == (
            "end says bought, timeout where episodes stop, 2 times in 2 episodes that have no end, and what was named "
            "is left; where that ended an episode, name it as well, in terminated= or truncated="
        )


@pytest.mark.parametrize(
    "told",
    [
        {"terminated": "end=left,bought", "truncated": "end=timeout"},
        {"terminated": "end=left", "ends": "truncated"},  # which says how the others ended
        {"terminated": "end=left", "ends": "unfinished"},
    ],
)
def test_where_it_is_said_how_episodes_ended_no_word_is_asked_for(told):
    assert not any(note.startswith("other-words") for note in us.read(TABLE, episode="visit", **told).notes)


def test_a_word_that_is_within_episodes_too_ends_none():
    """A column of events: an episode whose recording stopped ends with an event like any other."""
    events = {**TABLE, "end": ["go", "left", "left", "go", "stop", "go"]}
    assert not any("other-words" in note for note in us.read(events, episode="visit", terminated="end=left").notes)
