import io
import zipfile

import numpy as np
import pytest

from understudy.encoders.archive import array_of, first_line, read_arrays
from understudy.errors import EncoderError

ARRAYS = [
    np.zeros(()), np.array("abc"), np.zeros(3, bool), np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.zeros((0, 4)),
    np.arange(24, dtype=np.uint8).reshape(2, 3, 4), np.arange(3, dtype=">i4"), np.zeros(5, np.float16),
]  # fmt: skip


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_arrays_are_read_as_numpy_wrote_them(tmp_path):
    np.savez(tmp_path / "arrays.npz", *ARRAYS)
    read = read_arrays(tmp_path / "arrays.npz")
    for number, array in enumerate(ARRAYS):
        found = read[f"arr_{number}"]
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        assert np.array_equal(found, array)


@pytest.mark.parametrize(
    "array", [np.array([None]), np.zeros(2, "M8[s]"), np.zeros(2, complex), np.zeros(2, [("a", "f4")])]
)
def test_what_is_neither_a_number_nor_text_is_refused(array):
    with pytest.raises(ValueError, match="not an array of numbers"):
        array_of(npy(array))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"(3,)", b"(4,)"), (b"(3,)", b"(-3,)"), (b"(3,)", b"(99999999999999999,)"), (b"<f8", b"<f4"), (b"<f8", b"|O8"),
        (b"False", b"exit()"), (b"\x93NUMPY", b"\x93NUMPZ"), (b"(3,), }", b"(3,), 'a': 1}"), (b"\x76\x00", b"\x75\x00"),
    ],
)  # fmt: skip
def test_a_description_that_is_not_of_the_bytes_after_it_is_refused(old, new):
    content = npy(np.zeros(3))
    assert old in content
    with pytest.raises(ValueError, match=r"array|dtype"):
        array_of(content.replace(old, new))


def test_two_arrays_of_one_name_are_refused(tmp_path):
    path = tmp_path / "twice.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", npy(np.zeros(1)))
        archive.writestr("b.npy", npy(np.ones(1)))
    path.write_bytes(path.read_bytes().replace(b"b.npy", b"a.npy"))
    with pytest.raises(EncoderError, match="two arrays of one name"):
        read_arrays(path)


def test_what_is_said_of_an_error_can_be_printed():
    assert first_line(ValueError("a\x1b[2J\nb")) == "a?[2J"
    assert first_line(KeyError()) == "KeyError"
    assert len(first_line(ValueError("x" * 10**6))) == 300
