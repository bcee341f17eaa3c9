"""Tables and HDF5 files that are whole, and hold what no log should: odd types, names, sizes and links."""

import datetime
import decimal
import json
from pathlib import Path
from typing import Any

import numpy as np

from soak.mutations import ODD_WORDS, damaged_json

N_ROWS = 24


def odd_column(rng: np.random.Generator, n: int) -> Any:
    """Return an Arrow array of a type or of values that the columns of a log do not have."""
    import pyarrow as pa

    words = [ODD_WORDS[i] for i in rng.integers(len(ODD_WORDS), size=n)]
    octets = [rng.bytes(int(rng.integers(0, 6))) for _ in range(n)]
    whole = rng.integers(-(2**63), 2**63 - 1, size=n)
    moments = [None if rng.random() < 0.1 else datetime.datetime(2024, 1, 1) + datetime.timedelta(int(d)) for d in
               rng.integers(-80_000, 80_000, size=n)]  # fmt: skip
    kinds = {
        "words": lambda: pa.array(words),
        "large words": lambda: pa.array(words, pa.large_string()),
        "bytes": lambda: pa.array(octets),
        "text that is not UTF-8": lambda: pa.StringArray.from_buffers(n, *pa.array(octets, pa.binary()).buffers()[1:]),
        "nothing": lambda: pa.nulls(n),
        "nulls among numbers": lambda: pa.array([None if rng.random() < 0.3 else i % 3 for i in range(n)]),
        "whole numbers of all sizes": lambda: pa.array(whole),
        "beyond 63 bits": lambda: pa.array(whole.view(np.uint64)),
        "NaN and infinity": lambda: pa.array(rng.choice([np.nan, np.inf, -np.inf, 0.5, 1e308, -1e308, 5e-324], n)),
        "half floats": lambda: pa.array(rng.normal(size=n).astype(np.float16)),
        "truth values": lambda: pa.array(rng.random(n) < 0.5),
        "lists of one length": lambda: pa.array(rng.normal(size=(n, 3)).tolist()),
        "ragged lists": lambda: pa.array([[1.0] * int(k) for k in rng.integers(0, 4, size=n)]),
        "lists with nulls": lambda: pa.array([[None, 1.0] if i % 2 else None for i in range(n)]),
        "lists of lists": lambda: pa.array([[[1], [2, 3]]] * n),
        "fixed lists": lambda: pa.FixedSizeListArray.from_arrays(pa.array(rng.normal(size=2 * n)), 2),
        "empty fixed lists": lambda: pa.array([[]] * n, pa.list_(pa.float64(), 0)),
        "tables": lambda: pa.array([{"a": i, "b": None} for i in range(n)]),
        "maps": lambda: pa.array([[("a", 1)]] * n, pa.map_(pa.string(), pa.int64())),
        "decimals": lambda: pa.array([decimal.Decimal("1.25")] * n, pa.decimal256(76, 5)),
        "categories": lambda: pa.DictionaryArray.from_arrays(
            pa.array(rng.integers(0, 2, n).astype(np.int8)), ["x", None]
        ),
        "dates": lambda: pa.array([moment and moment.date() for moment in moments]),
        "moments": lambda: pa.array(moments, pa.timestamp(str(rng.choice(["s", "ms", "us", "ns"])))),
        "moments in a zone": lambda: pa.array(
            whole, pa.timestamp("ns", str(rng.choice(["UTC", "No/Where", "+99:99"])))
        ),
        "times of the day": lambda: pa.array(rng.integers(0, 86_400, n).astype(np.int32), pa.time32("s")),
        "spans of time": lambda: pa.array(whole, pa.duration("ns")),
        "actions below zero": lambda: pa.array(rng.integers(-3, 3, n)),
        "actions without end": lambda: pa.array(rng.choice([0, 1, 2**31 - 1, 2**62], n)),
        "probabilities that are none": lambda: pa.array(rng.choice([-0.5, 0.0, 0.5, 1.0, 2.0, np.nan], n)),
    }
    kind = str(rng.choice(list(kinds)))
    return kinds[kind](), kind


def odd_table(table: Any, rng: np.random.Generator) -> tuple[Any, str]:
    """Return a table with an odd column, name or length, or with other metadata, and what is odd about it."""
    import pyarrow as pa

    words, names = [], list(table.column_names)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = int(rng.integers(len(names)))
        how = rng.random()
        if how < 0.6:
            column, kind = odd_column(rng, len(table))
            table = table.set_column(at, table.column_names[at], column)
            words.append(f"{table.column_names[at]} holds {kind}")
        elif how < 0.75:
            pool = [*names, "", "a.b", "observation_0", "observation_1", "propensity_1", "next_observation_3", "time",
                    "x" * 5000, *ODD_WORDS[:40]]  # fmt: skip
            name = pool[rng.integers(len(pool))]
            table = table.rename_columns([name if i == at else old for i, old in enumerate(table.column_names)])
            words.append(f"a column named {name[:20]!r}")
        elif how < 0.85 and table.num_columns > 1:
            table = table.remove_column(at)
            names = list(table.column_names)
            words.append("a column removed")
        elif how < 0.9:
            table = table.slice(0, int(rng.choice([0, 1, 2])))
            words.append(f"{len(table)} rows")
        elif table.schema.metadata and b"understudy" in table.schema.metadata:
            stored, what = damaged_json(json.loads(table.schema.metadata[b"understudy"]), rng)
            text = json.dumps(stored).encode("utf-8", "surrogatepass")
            table = table.replace_schema_metadata({b"understudy": text})
            words.append(f"metadata: {what}")
        else:
            table = pa.concat_tables([table] * int(rng.choice([2, 3])))
            words.append("rows repeated")
    return table, "; ".join(words)


HDF5_ARRAYS = {
    "observations": np.arange(2.0 * N_ROWS).reshape(-1, 2) % 5,
    "actions": np.arange(N_ROWS) % 3,
    "rewards": np.arange(N_ROWS) % 2 * 1.0,
    "terminals": np.arange(N_ROWS) % 4 == 3,
    "timeouts": np.arange(N_ROWS) % 12 == 9,
}


def write_hdf5(path: Path) -> None:
    """Write a small log in D4RL's form."""
    import h5py

    with h5py.File(path, "w") as file:
        for name, array in HDF5_ARRAYS.items():
            file.create_dataset(name, data=array, compression="gzip" if name == "observations" else None)


def write_odd_hdf5(path: Path, rng: np.random.Generator) -> str:
    """Write a log in D4RL's form with arrays that are odd, elsewhere or of absurd size, and return which."""
    import h5py

    name = str(rng.choice(list(HDF5_ARRAYS)))
    huge = (int(rng.choice([2**20, 2**31, 2**40, 2**62])),)

    def compound(file: Any) -> None:
        file.create_dataset(name, data=np.zeros(N_ROWS, [("a", int), ("b", float)]))

    def references(file: Any) -> None:
        file.create_dataset(name, data=[file.ref] * N_ROWS, dtype=h5py.ref_dtype)

    def of_many(file: Any) -> None:
        odd = rng.choice([np.nan, np.inf, -np.inf, 1e308, -1.0, 2.0**63, 0.5], size=N_ROWS)
        file.create_dataset(name, data=odd if rng.random() < 0.5 else odd[:, None, None])

    ways = {
        "a link within": lambda file: file.__setitem__(name, h5py.SoftLink("/rewards2")),
        "a link to itself": lambda file: file.__setitem__(name, h5py.SoftLink(f"/{name}")),
        "a link to another file": lambda file: file.__setitem__(name, h5py.ExternalLink("../outside.h5", "/x")),
        "data in another file": lambda file: file.create_dataset(name, (N_ROWS,), "f8", external="/etc/passwd"),
        "absurd size, nothing stored": lambda file: file.create_dataset(name, huge, "f8", chunks=(1024,)),
        "absurd size, constant": lambda file: file.create_dataset(
            name, (2**16, 2**14), "f8", fillvalue=1.0, chunks=(64, 64)
        ),
        "no dimension": lambda file: file.create_dataset(name, data=1.0),
        "no rows": lambda file: file.create_dataset(name, (0,), "f8"),
        "rows without columns": lambda file: file.create_dataset(name, (N_ROWS, 0), "f8"),
        "other length": lambda file: file.create_dataset(name, data=np.arange(int(rng.integers(1, 40)))),
        "empty": lambda file: file.create_dataset(name, data=h5py.Empty("f8")),
        "a group": lambda file: file.create_group(name),
        "text": lambda file: file.create_dataset(name, data=["a"] * N_ROWS),
        "bytes": lambda file: file.create_dataset(name, data=np.array([b"a"] * N_ROWS)),
        "complex": lambda file: file.create_dataset(name, data=np.ones(N_ROWS, complex)),
        "half floats": lambda file: file.create_dataset(name, data=np.ones(N_ROWS, np.float16)),
        "large integers": lambda file: file.create_dataset(name, data=np.full(N_ROWS, 2**64 - 1, np.uint64)),
        "odd numbers": of_many,
        "a table": compound,
        "references": references,
    }  # fmt: skip
    way = str(rng.choice(list(ways)))
    with h5py.File(path, "w") as file:
        for other, array in HDF5_ARRAYS.items():
            if other != name:
                file.create_dataset(other, data=array)
        ways[way](file)
    return f"{name}: {way}"
