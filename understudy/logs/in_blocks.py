"""Columns in files cleaned block by block, so that no second copy of them is in memory."""

from collections.abc import Callable
from typing import Any

import numpy as np

from understudy.errors import LogError
from understudy.mapped import blocks, is_mapped, new_array

Clean = Callable[[str, Any], Any]
"""A function of a column's name and values that returns each of them in its dtype, or raises `LogError`."""


def in_blocks(clean: Clean, name: str, values: Any) -> Any:
    """Return `clean(name, values)`: of a column in a file, made block by block in a file, or the column itself.

    Where a block is refused, the whole column is cleaned, so that the message has the row's number.
    """
    return in_blocks_with(lambda name, values: (clean(name, values), None), name, values)[0]


def in_blocks_with(clean: Callable[[str, Any], tuple[Any, Any]], name: str, values: Any) -> tuple[Any, Any]:
    """Return what `in_blocks` does, for a function that returns something beside the values, alike for each block."""
    if not isinstance(values, np.ndarray) or not is_mapped(values):
        return clean(name, values)
    cleaned: np.ndarray | None = None
    beside: Any = None
    for rows in blocks(len(values)):
        block = values[rows]
        try:
            part, beside = clean(name, block)
        except LogError:
            return clean(name, values)
        if part is None or (cleaned is not None and part.dtype != cleaned.dtype):
            return clean(name, values)
        in_place = np.may_share_memory(part, block)
        if cleaned is None and in_place:
            cleaned = values.view(part.dtype).reshape(len(values), *part.shape[1:])
        elif cleaned is None:
            cleaned = new_array((len(values), *part.shape[1:]), part.dtype)
        if not in_place:
            cleaned[rows] = part
    return cleaned, beside
