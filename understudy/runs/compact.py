"""Row numbers of a run, held in as few bits as their range needs."""

from typing import Any

import numpy as np

from understudy.errors import UsageError


class Packed:
    """Integers held as the smallest of them and differences from it: 8 or 16 bits, and a bit plane for each bit more.

    A log of 135,000 rows takes 18 bits a step, 2.25 bytes instead of 4; a constant, such as the -1 of real runs, none.
    """

    __slots__ = ("_least", "_low", "_n", "_planes")

    def __init__(self, values: np.ndarray) -> None:
        least, most = (int(values.min()), int(values.max())) if len(values) else (0, 0)
        self._n, self._least = len(values), least if least in (most, -1) else 0  # subtracted where it saves a bit
        above = values.astype(np.int32, copy=False).view(np.uint32)  # negative numbers and differences wrap around
        if self._least:
            above = above - np.uint32(self._least % 2**32)
        n_bits = (most - self._least).bit_length()
        self._low = above.astype(np.uint8 if n_bits <= 8 else np.uint16) if n_bits else None
        self._planes: list[np.ndarray] = []
        for first in range(16, n_bits, 8):  # a byte at a time; each of its bits that is used is a plane
            byte = (above >> np.uint32(first)).astype(np.uint8)
            bits = range(min(8, n_bits - first))
            self._planes += [np.packbits(byte & np.uint8(1 << bit)) for bit in bits]

    def __len__(self) -> int:
        return self._n

    @property
    def nbytes(self) -> int:
        """The number of bytes held."""
        return sum(part.nbytes for part in [*self._planes, self._low] if part is not None)

    def unpacked(self) -> np.ndarray:
        """Return the integers as int32."""
        if self._low is None:
            return np.broadcast_to(np.int32(self._least), self._n)
        values = self._low.astype(np.uint32)
        for first in range(0, len(self._planes), 8):
            byte = np.zeros(self._n, np.uint8)
            for bit, plane in enumerate(self._planes[first : first + 8]):
                byte |= np.unpackbits(plane, count=self._n) << np.uint8(bit)
            values |= byte.astype(np.uint32) << np.uint32(16 + first)
        values += np.uint32(self._least % 2**32)
        return values.view(np.int32)


class NotKept:
    """Stands for rows of a run that were not kept: `len` is their number, anything else raises `UsageError`."""

    __slots__ = ("_n",)

    def __init__(self, n: int) -> None:
        self._n = int(n)

    def __len__(self) -> int:
        return self._n

    def __repr__(self) -> str:
        return f"{self._n:,} rows that were not kept"

    def _refuse(self, *arguments: Any, **options: Any) -> Any:
        raise UsageError(
            "the rows of this run were not kept (keep_rows=False); repeat it with them by "
            "simulate(simulator, make(run.seed), run.seed), with the max_steps= it had"
        )

    __array__ = __getitem__ = __iter__ = __contains__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __sub__ = __mul__ = __mod__ = __floordiv__ = __radd__ = __rsub__ = __neg__ = __reversed__ = _refuse
    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python and NumPy look for these in any object, such as __array_interface__
            raise AttributeError(name)
        self._refuse()


class RowNumbers:
    """A descriptor that holds row numbers packed, and returns them as an int32 array each time it is read.

    `NotKept` and None are returned as they are.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, run: Any, owner: type | None = None) -> Any:
        if run is None:
            return self
        held = vars(run)[self._name]
        return held.unpacked() if isinstance(held, Packed) else held

    def __set__(self, run: Any, values: Any) -> None:
        as_it_is = values is None or isinstance(values, Packed | NotKept)
        vars(run)[self._name] = values if as_it_is else Packed(np.asarray(values))
