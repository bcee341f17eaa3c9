"""Periods of pandas (a month, a quarter) as the dates they begin with."""

from typing import Any

import numpy as np

from understudy.errors import LogError

NAME = "pandas.period"
UNITS = {
    "D": "D", "M": "M", "h": "h", "H": "h", "min": "m", "T": "m", "s": "s", "S": "s", "ms": "ms", "L": "ms",
    "us": "us", "U": "us", "Y-DEC": "Y", "A-DEC": "Y",
}  # fmt: skip
"""NumPy's unit for each frequency of pandas that is one: both count it from 1970."""


def is_period(kind: Any) -> bool:
    """True for the Arrow type of pandas' periods."""
    import pyarrow as pa

    return isinstance(kind, pa.BaseExtensionType) and kind.extension_name == NAME


def refuse_other_periods(title: str, kind: Any) -> None:
    """Raise `LogError` for a frequency that counts otherwise than NumPy's units, such as weeks or business days."""
    if kind.freq != "Q-DEC" and kind.freq not in UNITS:
        raise LogError(
            f"{title} holds periods of {kind.freq}, which cannot be read as dates; give the date that each begins with "
            "(in pandas, .dt.start_time)"
        )


def period_starts(array: Any) -> Any:
    """Return an Arrow array of periods that `refuse_other_periods` lets pass as the dates or times they begin with."""
    import pyarrow as pa

    frequency = array.type.freq
    numbers = array.storage.to_numpy(zero_copy_only=False)
    missing = array.storage.is_null().to_numpy(zero_copy_only=False)
    whole = np.where(missing, 0, numbers).astype(np.int64)
    if frequency == "Q-DEC":
        starts = (3 * whole).astype("M8[M]")
    else:
        refuse_other_periods("a column", array.type)
        starts = whole.astype(f"M8[{UNITS[frequency]}]")
    days = np.datetime_data(starts.dtype)[0] in ("Y", "M", "D")
    dates = pa.array(starts.astype("M8[D]" if days else "M8[us]"))
    return pa.array(dates.to_pylist(), dates.type, mask=missing) if missing.any() else dates
