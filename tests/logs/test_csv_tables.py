from decimal import Decimal

import numpy as np
import pytest

from understudy.errors import LogError
from understudy.logs import read


def test_types_are_guessed_from_the_whole_csv(tmp_path):
    rows = 200_000  # more than a block that Arrow would guess from
    lines = ["observation,action,reward", *["0,0,0"] * rows, "0,0,0.5", "0,0,1"]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    assert read(tmp_path / "log.csv").reward[-1] == 0.5


HEAD = b"observation,action,reward,terminated\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (HEAD.replace(b",", b";") + b"0;1;0,5;1\n", "separate columns by ';'; save it with commas"),
        (HEAD.replace(b",", b"\t") + b"0\t1\t0.5\t1\n", "separate columns by tabs; save it with commas"),
        (b"\xef\xbb\xbf" + HEAD.replace(b",", b";"), "separate columns by ';'"),
        (b"sep=,\n" + HEAD + b"0,1,0.5,1\n", "the first line is sep=,, .* delete that line"),
        ((HEAD + b"0,1,0.5,1\n").decode().encode("utf-16"), "UTF-16, .* save it as UTF-8"),
        ((HEAD + b"0,1,0.5,1\n").decode().encode("utf-16-le"), "UTF-16, .* save it as UTF-8"),
        (b"\xe9t\xe9," + HEAD + b"0,0,1,0.5,1\n", "header holds text that is not UTF-8"),
        (HEAD + b"0,caf\xe9,0.5,1\n", "column action holds text that is not UTF-8"),
        (HEAD + b"caf\xe9,1,0.5,1\n", "column observation holds text that is not UTF-8"),
        (HEAD + b'0,1,"0,5",1\n', "reward is '0,5' in row 0, .* write numbers with a point before decimals"),
    ],
)
def test_what_spreadsheets_call_csv_is_refused_with_what_to_do(tmp_path, content, words):
    (tmp_path / "log.csv").write_bytes(content)
    with pytest.raises(LogError, match=words):
        read(tmp_path / "log.csv")


def test_text_that_is_not_utf8_in_a_column_of_no_use_does_no_harm(tmp_path):
    (tmp_path / "log.csv").write_bytes(b"note," + HEAD + b"caf\xe9,0,1,0.5,1\n")
    assert read(tmp_path / "log.csv").reward.tolist() == [0.5]
    with pytest.raises(LogError, match="column note holds text that is not UTF-8"):
        read(tmp_path / "log.csv", order_by="note")


def csv_file(tmp_path, text):
    (tmp_path / "log.csv").write_text(text)
    return tmp_path / "log.csv"


LABELED = "observation,action,reward,terminated,p,q\n0,{0},1,true,.7,.3\n1,{1},0,true,.6,.4\n2,{0},1,true,.7,.3\n"


def test_truth_values_without_labels_are_read_as_false_and_true(tmp_path):
    log = read(csv_file(tmp_path, LABELED.format("true", "false")), propensity=["q", "p"])
    assert log.spec.actions == ("false", "true")
    assert log.action.tolist() == [1, 0, 1]


@pytest.mark.parametrize("empty", ["", '""'])
def test_an_empty_cell_of_a_csv_is_refused_by_row(tmp_path, empty):
    head = "observation,action,reward,terminated,episode,ts"
    for row in (f"1,{empty},0,true,v1,a", f"1,x,0,true,{empty},a"):
        with pytest.raises(LogError, match=r"column (action|episode) has no value in row 1; fill it in"):
            read(csv_file(tmp_path, f"{head}\n0,x,1,true,v0,b\n{row}\n"))
    with pytest.raises(LogError, match="order_by column ts has no value in row 1"):
        read(csv_file(tmp_path, f"{head}\n0,x,1,true,v0,b\n1,x,0,true,v1,{empty}\n"), order_by="ts")


@pytest.mark.parametrize("word", ["NA", "null", "nan", "#N/A", '"NA"'])
def test_only_an_empty_cell_of_text_is_missing(tmp_path, word):
    head = "observation,action,reward,terminated,episode,ts"
    path = csv_file(tmp_path, f"{head}\n0,x,1.5,true,b,b\n1,{word},NA,true,{word},{word}\n2,x,1,true,a,a\n")
    log = read(path, order_by="ts")
    text = word.strip('"')
    order = sorted(["b", text, "a"])
    assert [log.spec.actions[code] for code in log.action] == ["x" if ts in "ab" else text for ts in order]
    assert log.n_episodes == 3
    assert np.isnan(log.reward[order.index(text)])  # a word for nothing, among numbers


WRITTEN = [
    ("1.1", "1.10"), ("007", "7"), ("1e3", "10e2"), ("0x10", "16"), ("+1", "1"), ("-0", "0"), ("1", "1.0"),
    ("0.12345678901234567891", "0.12345678901234567892"), ("true", "TRUE"), ("1", "true"),
    ("2020-01-01", "2020-01-01 00:00"),    (str(10**20), str(10**20 + 1)), ("-0.0", "0.0"), ("1", " 1"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), WRITTEN)
def test_ids_and_labels_that_are_written_differently_stay_apart_in_a_csv(tmp_path, one, other):
    head = "observation,action,reward,terminated,id"
    path = csv_file(tmp_path, f"{head}\n0,a,1,true,{one}\n1,b,0,true,{other}\n2,b,0,true,5\n")
    assert read(path, episode="id").n_episodes == 3
    if one.strip() != other.strip():  # labels that differ in spaces only are refused
        assert len(set(read(path, action="id", n_actions=None).action.tolist())) == 3


@pytest.mark.parametrize(
    ("texts", "ids"),
    [(["7", "12", "7"], [7, 12, 7]), (["-3", "0", "1"], [-3, 0, 1]), (["7.0", "12.0", "7.0"], [7, 12, 7])],
)
def test_integers_of_a_csv_are_the_ids_they_spell(tmp_path, texts, ids):
    rows = "".join(f"0,a,1,true,{text}\n" for text in texts)
    assert read(csv_file(tmp_path, f"observation,action,reward,terminated,episode\n{rows}")).episode.tolist() == ids


def test_labels_that_are_given_match_a_csv_by_value(tmp_path):
    path = csv_file(tmp_path, LABELED.format("0.10", "0.20"))
    assert read(path, actions=["0.2", "0.1"]).action.tolist() == [1, 0, 1]
    with pytest.raises(LogError, match="action is '01' in row 1; another text of the column has the same label"):
        read(csv_file(tmp_path, LABELED.format("1", "01")), actions=["1", "2"])


NUMBERS = ["9", "10", "11", "100", "2", "-1", "1e3", "0.5", str(2**70), str(2**70 + 1)]


def test_long_numbers_of_a_csv_are_sorted_as_numbers(tmp_path):
    rows = "".join(f"{at},0,0,1,{text}\n" for at, text in enumerate(NUMBERS))
    path = csv_file(tmp_path, f"observation,action,reward,episode,t\n{rows}")
    expected = sorted(range(len(NUMBERS)), key=lambda row: Decimal(NUMBERS[row]))
    assert read(path, order_by="t", ends="terminated").observation.tolist() == expected


@pytest.mark.parametrize("big", [2**53, 2**63, 2**64, 10**30, 10**75, 10**90])
def test_long_numbers_of_a_csv_stay_apart(tmp_path, big):
    path = csv_file(tmp_path, f"observation,action,reward,terminated,id\n0,a,1,true,{big}\n1,b,0,true,{big + 1}\n")
    assert read(path, episode="id").n_episodes == 2
    try:
        observation = read(path, observation="id").observation
    except LogError as error:
        assert "which float64 would round" in str(error) or "text that spells a number" in str(error)  # noqa: PT017
        assert big >= 2**64
    else:
        assert observation[0] != observation[1]


def test_long_integers_beside_fractions_stay_apart(tmp_path):
    head = "observation,action,reward,terminated"
    with pytest.raises(LogError, match="observation is '9007199254740993' in row 1"):
        read(csv_file(tmp_path, f"{head}\n0.5,a,1,true\n9007199254740993,b,0,true\n9007199254740992,b,0,true\n"))
    kept = read(csv_file(tmp_path, f"{head}\n0.5,a,1,true\n1.2345678901234567e+20,b,0,true\n")).observation
    assert kept.tolist() == [0.5, 1.2345678901234567e20]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("observation,action,reward\n1,0,1\n2,1\n", "line 3 has 2 cells, and the header has 3: '2,1'; is a comma"),
        ("observation,action,reward\n1,0,1,\n", "line 2 has 4 cells, and the header has 3"),
        ('observation;action;"reward, net"\n1;0;1,5\n', "seems to separate columns by ';'"),
    ],
)
def test_a_line_of_another_width_is_named(tmp_path, text, message):
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(LogError, match=message):
        read(tmp_path / "log.csv")


@pytest.mark.parametrize("end", ["", "\n\n", "   \n", "\r\n\t\r\n", "  "])
def test_empty_lines_and_lines_of_spaces_are_left_out(tmp_path, end):
    (tmp_path / "log.csv").write_text("observation,action,reward\n1,0,1\n \n2,1,0\n" + end)
    assert read(tmp_path / "log.csv", ends="every-row").observation.tolist() == [1, 2]
