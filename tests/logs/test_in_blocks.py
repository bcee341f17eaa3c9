import numpy as np
import pytest

from understudy import mapped
from understudy.errors import LogError
from understudy.logs.columns import action_codes, flags, floats, integer_ids, integers, observations
from understudy.logs.in_blocks import in_blocks, in_blocks_with
from understudy.mapped import ArrayRoom, file_below, is_mapped, made_in


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(mapped, "BLOCK", 3)


@pytest.fixture
def in_file(tmp_path):
    """A function that returns an array in a file."""
    room = ArrayRoom(tmp_path / "room")

    def write(values):
        values = np.asarray(values)
        with made_in(room):
            array = mapped.new_array(values.shape, values.dtype)
        array[:] = values
        return array

    with made_in(room):
        yield write


@pytest.mark.parametrize(
    ("clean", "values"),
    [
        (floats, np.arange(10.0)),
        (floats, np.arange(10)),
        (integers, np.arange(10)),
        (integers, np.arange(10.0)),
        (integers, np.arange(10, dtype=np.int32)),
        (flags, np.arange(10) % 2),
        (flags, np.arange(10) % 2 == 0),
        (integer_ids, np.arange(10, dtype=np.uint8)),
        (integer_ids, np.arange(10.0)),
        (observations, np.arange(20).reshape(10, 2)),
        (observations, np.arange(10) % 2 == 0),
        (observations, np.arange(10, dtype=np.float16)),
    ],
)
def test_blocks_give_what_the_whole_column_gives(clean, values, in_file):
    found, expected = in_blocks(clean, "x", in_file(values)), clean("x", values)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    assert is_mapped(found)


def test_a_column_in_its_dtype_is_not_written_again(in_file):
    array = in_file(np.arange(10.0))
    assert file_below(in_blocks(floats, "x", array)) == file_below(array)


def test_a_message_has_the_row_of_the_whole_column(in_file):
    values = np.arange(10.0)
    values[7] = 0.5
    with pytest.raises(LogError, match="row 7"):
        in_blocks(integers, "x", in_file(values))


def test_what_only_some_blocks_can_be_is_asked_of_the_whole(in_file):
    ids = np.arange(10.0)
    ids[7] = 0.5  # then they are no integers, which the first block does not tell
    assert in_blocks(integer_ids, "x", in_file(ids)) is None


def test_labels_come_with_the_codes(in_file):
    codes, labels = in_blocks_with(
        lambda name, values: action_codes(values, ["2", "1", "0"], name), "x", in_file([0, 1, 2, 0])
    )
    assert codes.tolist() == [2, 1, 0, 2]
    assert labels == ("2", "1", "0")


def test_columns_in_memory_are_cleaned_at_once():
    calls = []
    in_blocks(lambda name, values: calls.append(len(values)), "x", np.arange(10))
    assert calls == [10]
