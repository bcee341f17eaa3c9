import numpy as np
import pyarrow as pa
import pytest

from understudy.errors import LogError
from understudy.logs.texts import Texts, coded_texts, plain_array


def test_categories_that_no_row_has_are_left_out():
    array = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2]), pa.array(["a", "never", "b", ""]))
    found = Texts("x", plain_array(array))
    assert found.distinct.to_pylist() == ["a", "b"]
    assert found.spread(np.array([10, 20])).tolist() == [20, 10, 20]


def test_chunks_with_categories_of_their_own_become_one():
    chunks = [pa.array(["b", "a"]).dictionary_encode(), pa.array(["c", "b"]).dictionary_encode()]
    array = plain_array(pa.chunked_array(chunks))
    assert array.to_pylist() == ["b", "a", "c", "b"]
    assert plain_array(pa.chunked_array([pa.array(["a"]), pa.array(["b"])])).to_pylist() == ["a", "b"]
    days = pa.array([3, 4], pa.date32())
    assert plain_array(days.dictionary_encode()).to_pylist() == days.to_pylist()
    views = pa.array(["x", "y"], pa.string_view())
    assert plain_array(views).to_pylist() == ["x", "y"]


@pytest.mark.parametrize("values", [["a", None], ["a", ""], ["a", " \t"]])
def test_a_row_without_a_text_is_refused(values):
    for array in (pa.array(values), pa.array(values).dictionary_encode()):
        with pytest.raises(LogError, match="x has no value in row 1; fill it in, or drop the row"):
            Texts("x", plain_array(array))


def test_text_that_is_not_utf8_is_refused():
    array = pa.array([b"a", b"caf\xe9"], pa.large_binary()).view(pa.large_string())
    with pytest.raises(LogError, match="column x holds text that is not UTF-8"):
        Texts("x", array)


def test_the_first_row_of_a_text_is_named():
    found = Texts("x", pa.array(["a", "b", "b"]))
    with pytest.raises(LogError, match="x is 'b' in row 1; change it"):
        found.refuse(found.matching("^b$"), "change it")


@pytest.mark.parametrize("labels", [[20, 10], [1.5, 0.5], [True, False]])
def test_categories_of_numbers_stay_categories_in_the_order_given(labels):
    array = plain_array(pa.DictionaryArray.from_arrays(pa.array([1, 0, 1], pa.int8()), pa.array(labels)))
    assert array.dictionary.to_pylist() == [str(label).lower() for label in labels]
    assert array.indices.to_pylist() == [1, 0, 1]


@pytest.mark.parametrize("coded", [False, True])
def test_text_in_chunks_has_codes_by_first_appearance(coded):
    chunks = [pa.array(part) for part in (["b", "a", "b"], ["c"], ["a", "d", "b"])]
    chunks = [chunk.dictionary_encode() for chunk in chunks] if coded else chunks
    found = coded_texts("x", pa.chunked_array(chunks))
    assert found.codes.tolist() == [0, 1, 0, 2, 1, 3, 0]
    assert found.distinct.to_pylist() == ["b", "a", "c", "d"]


def test_categories_are_coded_by_the_rows_and_not_by_their_own_order():
    array = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2]), pa.array(["a", "never", "b"]))
    found = coded_texts("x", pa.chunked_array([array]))
    assert (found.codes.tolist(), found.distinct.to_pylist()) == ([0, 1, 0], ["b", "a"])


@pytest.mark.parametrize(
    "last",
    [
        pa.array(["a", None]),
        pa.array(["a", None]).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None])),
    ],
)
def test_a_missing_text_is_named_by_its_row_in_all_chunks(last):
    first = pa.array(["a", "b", "c"])
    first = first.dictionary_encode().cast(last.type) if pa.types.is_dictionary(last.type) else first
    with pytest.raises(LogError, match="column x has no value in row 4"):
        coded_texts("x", pa.chunked_array([first, last]))


def test_coded_text_that_is_not_utf8_is_refused():
    array = pa.array([b"a", b"caf\xe9"], pa.large_binary()).view(pa.large_string())
    with pytest.raises(LogError, match="column x holds text that is not UTF-8"):
        coded_texts("x", pa.chunked_array([array]))


@pytest.mark.parametrize("words", [pa.array(["a", "b"]), pa.array([3, 4], pa.date32())], ids=["text", "dates"])
@pytest.mark.parametrize("number", [2, -1])
def test_a_number_beyond_the_categories_is_refused(words, number):
    damaged = pa.DictionaryArray.from_arrays(pa.array([0, number]), words, safe=False)
    with pytest.raises(LogError, match="has 2 of them, and rows with a number beyond these"):
        plain_array(damaged)
    if pa.types.is_string(words.type):
        with pytest.raises(LogError, match="has 2 of them, and rows with a number beyond these"):
            coded_texts("arm", pa.chunked_array([damaged]))
