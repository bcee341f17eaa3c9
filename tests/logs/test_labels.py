from decimal import Decimal

import numpy as np
import pytest

from understudy.errors import LogError, SettingError
from understudy.logs.columns import action_codes
from understudy.logs.labels import checked_labels, codes_by_label, sorted_labels, spelled_value

ONES = ["true", "True", "TRUE", "1", "1.0", "1.", "+1", "01", "1e0", " 1"]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float32, np.float64, object])
@pytest.mark.parametrize("one", ONES)
@pytest.mark.parametrize("zero", ["false", "0", "0.0", "-0"])
def test_a_label_names_the_value_it_spells_whatever_its_place(dtype, one, zero):
    column = np.array([1, 0, 1]).astype(bool if dtype is object else dtype).astype(dtype)
    assert codes_by_label(column, (one, zero), "action").tolist() == [0, 1, 0]
    assert codes_by_label(column, (zero, one), "action").tolist() == [1, 0, 1]
    assert action_codes(column, [one, zero])[0].tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (np.array([0.1, 0.2], np.float32), ("0.2", "0.1")),
        (np.array([0.5, 1.5], np.float16), ("1.5", "0.5")),
        (np.array([2**63 + 1, 2**63], np.uint64), ("9223372036854775808", "9223372036854775809")),
        (np.array([2**53 + 1, 2**53]), ("9007199254740992", "9007199254740993")),
        (np.array([Decimal("0.25"), Decimal(2**70)], object), (str(2**70), "0.25")),
        (np.array([1, 0]), ("1e999999999", "0", "1")),
        (np.array([-1, 1]), ("+1", "-1")),
    ],
)
def test_values_are_compared_exactly(values, labels):
    codes = codes_by_label(values, labels, "action")
    assert len(set(codes.tolist())) == 2
    assert [labels[code] for code in codes] == [labels[-1], labels[-2]]


@pytest.mark.parametrize(
    ("column", "labels", "message"),
    [
        ([True, False], ["yes", "no"], "action is 'True' in row 0; give actions= every label"),
        ([False, True], ["0", "2"], "action is 'True' in row 1; give actions= every label"),
        ([0, 7], ["0", "1"], "action is '7' in row 1; give actions= every label"),
        ([0, 1], ["10", "20"], "action is '0' in row 0; give actions= every label"),
        ([0, 2], ["false", "true"], "action is '2' in row 1; give actions= every label"),
        ([0, 1], ["1", "1.0", "0"], "action is '1' in row 1; 1, 1.0 all spell it"),
        ([0.5, np.nan], ["0.5", "1"], "action is nan in row 1; give every row a label"),
        ([0.5, np.inf], ["0.5", "1"], "action is inf in row 1; give every row a label"),
        ([2.0**53], [str(2**53), str(2**53 + 1)], "all spell it"),
        ([None, 1], ["1", "2"], "action is 'None' in row 0"),
        ([10**5000], ["1", "2"], "in row 0; give actions= every label"),
        ([{}, 1], ["1", "2"], "action holds values that cannot be told apart"),
        (["1", {}], ["1", "2"], "action holds values that cannot be told apart"),
    ],
)
def test_values_that_no_label_spells_or_two_do_are_refused_by_row(column, labels, message):
    with pytest.raises(LogError, match=message):
        action_codes(column, labels)


@pytest.mark.parametrize("labels", [["true", "false"], ["yes", "no", "never"]])
def test_text_is_matched_letter_by_letter(labels):
    assert action_codes([labels[1], labels[0]], labels)[0].tolist() == [1, 0]
    with pytest.raises(LogError, match="in row 1; give actions= every label"):
        action_codes([labels[0], labels[1].upper()], labels)


def test_truth_values_without_labels_are_false_and_true():
    for column in ([True, False], np.array([True, False], object)):
        codes, labels = action_codes(column, None)
        assert (codes.tolist(), labels) == ([1, 0], ("false", "true"))


@pytest.mark.parametrize(
    ("found", "order"),
    [
        ([str(code) for code in (11, 2, 10, 0, 1)], ("0", "1", "2", "10", "11")),
        (["1.5", "-2", "1e3", "0.25"], ("-2", "0.25", "1.5", "1e3")),
        (["10", "9", "x"], ("10", "9", "x")),
        (["nan", "10", "9"], ("10", "9", "nan")),
        (["01", "1", "0"], ("0", "01", "1")),
        (["arm10", "arm9"], ("arm10", "arm9")),
        ([str(2**53 + 1), str(2**53)], (str(2**53), str(2**53 + 1))),
    ],
)
def test_labels_sort_as_numbers_where_all_spell_one_and_else_as_text(found, order):
    assert sorted_labels(found, "action") == order


def test_labels_that_differ_in_spaces_only_are_refused():
    with pytest.raises(LogError, match=r"action has the labels 'a' and 'a ', which differ only in spaces"):
        action_codes(["a", "a ", "b"], None)
    assert action_codes(["a ", "a"], ["a", "a "])[0].tolist() == [1, 0]


@pytest.mark.parametrize("empty", ["", "  ", "\t"])
def test_an_empty_label_is_refused_by_row(empty):
    with pytest.raises(LogError, match=r"action is .* in row 1; give every row a label"):
        action_codes(["a", empty], None)
    with pytest.raises(SettingError, match="actions= has an empty label"):
        checked_labels(["a", empty])


def test_half_a_surrogate_pair_is_no_label():
    message = r"half of a surrogate pair, which no file can hold; rename it"
    with pytest.raises(LogError, match=message):
        action_codes(["\ud800", "b"], None)
    for values, labels in (([0, 1], ["\udfff", "b"]), (["x\ud83d", "b"], ["x\ud83d", "b"])):
        with pytest.raises(SettingError, match=message):
            action_codes(values, labels)


def test_words_spell_nothing():
    for word in ("left", "inf", "nan", "1_000", "0x10", "\u0661", "1e99999999999999999999", "", "yes", "tRUE"):
        assert spelled_value(word) is None
