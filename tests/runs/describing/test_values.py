"""Nodes of values without parts: different values have different tags, and are shown as JSON has them."""

import json

import numpy as np
import pytest

from understudy.logs import Log
from understudy.runs.describing.values import digest_of_array, json_numbers, key_label, value_node

LOG = Log.from_columns(observation=[0], action=[0], reward=[1.0], next_observation=[0], terminated=[True])

VALUES = [
    None, True, 1, 1.0, "1", "True", b"1", bytearray(b"1"), 1j, ..., float("nan"), float("inf"), "nan", "x" * 201,
    "x" * 202, 1 << 300, (1 << 300) + 1, np.float32(1), np.int8(1), LOG,
]  # fmt: skip


def test_different_values_have_different_tags_and_digests():
    nodes = [value_node(value) for value in VALUES]
    assert len({node.tag for node in nodes}) == len({node.digest for node in nodes}) == len(VALUES)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_are_shown_as_json_has_them(value):
    shown = value_node(value).plain
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown
    assert len(str(shown)) < 100


def test_numpys_own_numbers_are_pythons():
    for value, same in ((np.float64(0.5), 0.5), (np.int64(3), 3), (np.bool_(True), True), (np.str_("a"), "a")):
        assert value_node(value).digest == value_node(same).digest


@pytest.mark.parametrize("value", [[1], (1,), {}, object(), np.zeros(2), np.void(b"ab")])
def test_what_has_parts_has_no_such_node(value):
    assert value_node(value) is None


def test_keys_have_labels_that_no_other_key_has():
    keys = [1, "1", (1, "a"), ("1", "a"), (), None, True, 1.5]
    assert len({key_label(key) for key in keys}) == len(keys)
    assert key_label(frozenset({1})) is None
    assert key_label((1, frozenset({1}))) is None


def test_numbers_that_json_does_not_have_are_texts():
    assert json_numbers([1, [float("nan"), 2.5], -float("inf")]) == [1, ["nan", 2.5], "-inf"]


def test_the_digest_of_an_array_does_not_depend_on_its_layout():
    array = np.arange(200_000).reshape(500, 400)
    assert digest_of_array(np.asfortranarray(array)) == digest_of_array(array)
    assert digest_of_array(np.repeat(array, 2, axis=1)[:, ::2]) == digest_of_array(array)
    assert digest_of_array(array.T) != digest_of_array(array)
    assert digest_of_array(array[:0]) == digest_of_array(np.empty(0))
