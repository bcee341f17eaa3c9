"""Damaged and forged files of logs: every format that `read` knows."""

import bz2
import gzip
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

import understudy as us
from soak.kinds import Made
from soak.mutations import ODD_WORDS, damaged_bytes, damaged_json, damaged_text, json_text
from soak.odd_tables import odd_table, write_hdf5, write_odd_hdf5

OPTIONS: list[dict[str, Any]] = [
    {"ends": "terminated"}, {"coding": "one-hot"}, {"order_by": "step"}, {"categories": ["observation"]},
    {"observation": "action"}, {"propensity": "reward"}, {"n_actions": 3}, {"renormalize": True}, {"unseen": "other"},
    {"actions": ["a", "b"]}, {"time": "step"}, {"n_samples": 10}, {"observation": ["reward", "action"]}, {"n_actions": 2},
]  # fmt: skip
"""What else `read` is told in some cases."""


def small_log() -> us.Log:
    """Return a log of 24 steps in six episodes, with text among its observations."""
    rng = np.random.default_rng(0)
    return us.Log.from_columns(
        observation=np.arange(24) % 4, action=rng.integers(0, 3, 24), reward=rng.integers(0, 2, 24) * 1.0,
        terminated=np.arange(24) % 4 == 3, propensity=np.full((24, 3), 1 / 3),
    )  # fmt: skip


def read_or_check(source: Any, rng: np.random.Generator, **options: Any) -> us.Log:
    """Read a log, one time in three with further options, and audit one of eight."""
    if rng.random() < 0.3:
        options |= OPTIONS[rng.integers(len(OPTIONS))]
    log = us.read(source, progress=False, **options)
    if rng.random() < 0.125:
        us.check(log)
    return log


class TextFiles:
    """Files of text of one format, plain or compressed."""

    sealed = False

    def __init__(self, name: str, share: int, texts: dict[str, bytes], beside: str | None = None) -> None:
        self.name, self.share, self.texts, self.beside = name, share, texts, beside
        self.path = ""

    def prepare(self, scratch: Path) -> None:
        """Texts are in memory."""

    def make(self, folder: Path, rng: np.random.Generator) -> Made:
        self.path = str(rng.choice([name for name in self.texts if name != self.beside]))
        target = self.path if self.beside is None or rng.random() < 0.7 else self.beside
        words = ""
        for name in {self.path, self.beside} - {None}:
            content = self.texts[str(name)]
            if name == target:
                content, words = damaged_text(content, rng)
            (folder / str(name)).write_bytes(content)
        return Made(words)

    def read(self, folder: Path, rng: np.random.Generator) -> Any:
        return read_or_check(folder / self.path, rng)

    def same(self, value: Any) -> bool:
        return True


class Packed:
    """Compressed text: damaged once it is packed, damaged before, packed twice, or a bomb."""

    name, share, sealed = "gz, zst, bz2", 6, False

    def prepare(self, scratch: Path) -> None:
        import pyarrow as pa

        self.text = csv_text()
        self.packers = {
            ".gz": gzip.compress,
            ".bz2": bz2.compress,
            ".zst": lambda text: pa.compress(text, "zstd", True),
        }
        zeros = bytes(400 << 20)
        self.bombs = {ending: pack(zeros) for ending, pack in self.packers.items() if ending != ".bz2"}

    def make(self, folder: Path, rng: np.random.Generator) -> Made:
        ending = str(rng.choice(list(self.packers)))
        how, pack = rng.random(), self.packers[ending]
        self.path = f"log.csv{ending}"
        if how < 0.004 and ending in self.bombs:
            content, words = self.bombs[ending], "a bomb"
        elif how < 0.6:
            content, words = damaged_bytes(pack(self.text), rng)
        elif how < 0.9:
            content, words = damaged_text(self.text, rng)
            content = pack(content)
        else:
            content, words = pack(self.text) * 2, "packed twice over"
            self.path = f"log.csv{rng.choice(list(self.packers))}"
        (folder / self.path).write_bytes(content)
        return Made(words)

    def read(self, folder: Path, rng: np.random.Generator) -> Any:
        return read_or_check(folder / self.path, rng)

    def same(self, value: Any) -> bool:
        return True


class DsJson:
    """Decisions as JSON lines: damaged as text, and value by value."""

    name, share, sealed = "dsjson", 10, False

    def prepare(self, scratch: Path) -> None:
        """Lines are in memory."""

    def make(self, folder: Path, rng: np.random.Generator) -> Made:
        self.path = str(rng.choice(["log.dsjson", "log.json", "log.dsjson.gz"]))
        if rng.random() < 0.5:
            content, words = damaged_text(b"\n".join(map(json_text, DECISIONS)), rng)
        else:
            at = int(rng.integers(len(DECISIONS)))
            changed, words = damaged_json(DECISIONS[at], rng)
            content = b"\n".join(json_text(changed if i == at else one) for i, one in enumerate(DECISIONS))
        (folder / self.path).write_bytes(gzip.compress(content) if self.path.endswith(".gz") else content)
        return Made(words)

    def read(self, folder: Path, rng: np.random.Generator) -> Any:
        return read_or_check(folder / self.path, rng)

    def same(self, value: Any) -> bool:
        return True


class ParquetFiles:
    """Parquet files: damaged bytes of files of ours and of others, and whole files with odd tables."""

    name, share, sealed = "parquet", 20, False

    def prepare(self, scratch: Path) -> None:
        import pyarrow.parquet as pq

        log = small_log()
        us.write(log, scratch / "ours.parquet")
        self.ours = (scratch / "ours.parquet").read_bytes()
        self.table, self.fingerprint = pq.read_table(scratch / "ours.parquet"), log.fingerprint
        pq.write_table(self.table, scratch / "theirs.parquet", compression="gzip", row_group_size=5, version="1.0")
        self.theirs = (scratch / "theirs.parquet").read_bytes()

    def make(self, folder: Path, rng: np.random.Generator) -> Made:
        how = rng.random()
        self.forged = how >= 0.35
        if not self.forged:
            content, words = damaged_bytes(self.ours, rng)
            (folder / "log.parquet").write_bytes(content)
            return Made(words, forged=False)
        if how < 0.5:
            content, words = damaged_bytes(self.theirs, rng)
            (folder / "log.parquet").write_bytes(content)
            return Made(words)
        return Made(self.write_odd(folder / "log.parquet", rng))

    def write_odd(self, path: Path, rng: np.random.Generator) -> str:
        """Write an odd table; where Parquet cannot hold one, another is drawn."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        for _ in range(20):
            table, words = odd_table(self.table, rng)
            try:
                pq.write_table(table, path, row_group_size=int(rng.choice([3, 100])))
            except (pa.ArrowException, OSError, ValueError):
                path.unlink(missing_ok=True)
                continue
            return words
        raise AssertionError("twenty odd tables in a row cannot be written")

    def read(self, folder: Path, rng: np.random.Generator) -> Any:
        path = folder / "log.parquet"
        return read_or_check(path, rng) if self.forged else us.read(path, progress=False)

    def same(self, value: Any) -> bool:
        return value.fingerprint == self.fingerprint


class ParquetFolders(ParquetFiles):
    """Folders of Parquet files: hive partitions with odd names, links, pipes and files of others among them."""

    name, share, sealed = "folders of Parquet", 4, False

    def make(self, folder: Path, rng: np.random.Generator) -> Made:
        words = []
        for number in range(int(rng.integers(1, 4))):
            odd = ODD_WORDS[rng.integers(len(ODD_WORDS))].replace("/", "_").replace("\0", "")[:50]
            inside = folder / str(
                rng.choice([".", f"day={odd}", f"{odd}=1", "observation=3", "=", "a=b=c", "action=x"])
            )
            inside.mkdir(exist_ok=True)
            how = rng.random()
            path = inside / f"part-{number}.parquet"
            if how < 0.5:
                path.write_bytes(self.ours)
            elif how < 0.65:
                path.write_bytes(damaged_bytes(self.ours, rng)[0])
            elif how < 0.8:
                words.append(self.write_odd(path, rng))
            else:
                links = {"itself": path.name, "the folder above": "..", "nowhere": "none", "the first": "part-0.parquet",
                         "a device": "/dev/zero", "elsewhere": "/etc/passwd"}  # fmt: skip
                where = str(rng.choice([*links, "a pipe"]))
                if where == "a pipe":
                    os.mkfifo(path)
                else:
                    path.symlink_to(links[where])
                words.append(f"a link to {where}")
        return Made("; ".join(words))

    def read(self, folder: Path, rng: np.random.Generator) -> Any:
        source: Any = folder
        if rng.random() < 0.3:
            source = str(folder / "**" / "*.parquet")
        return read_or_check(source, rng)

    def same(self, value: Any) -> bool:
        return True


class ArrowFiles(ParquetFiles):
    """Arrow's own files, and datasets and streams of them, which `read` is given as objects."""

    name, share, sealed = "arrow", 3, False

    def prepare(self, scratch: Path) -> None:
        import pyarrow.feather

        super().prepare(scratch)
        pyarrow.feather.write_feather(self.table, scratch / "log.feather", compression="zstd")
        self.feather = (scratch / "log.feather").read_bytes()

    def make(self, folder: Path, rng: np.random.Generator) -> Made:
        if rng.random() < 0.5:
            self.kind = "feather"
            content, words = damaged_bytes(self.feather, rng)
            (folder / "log.feather").write_bytes(content)
            return Made(words)
        self.kind = "parquet"
        return super().make(folder, rng)

    def read(self, folder: Path, rng: np.random.Generator) -> Any:
        import pyarrow as pa
        from pyarrow import dataset

        try:  # what Arrow refuses by itself never reaches us
            source = dataset.dataset(str(folder / f"log.{self.kind}"), format=self.kind)
            if rng.random() < 0.3:
                source = source.to_table()
        except (pa.ArrowException, OSError, ValueError, KeyError, MemoryError) as error:
            raise us.LogError(f"Arrow: {str(error).splitlines()[0][:200] if str(error) else 'refused'}") from None
        return read_or_check(source, rng)

    def same(self, value: Any) -> bool:
        return True


class Hdf5:
    """HDF5 files in D4RL's form: damaged bytes, and whole files with odd arrays."""

    name, share, sealed = "hdf5", 8, False

    def prepare(self, scratch: Path) -> None:
        write_hdf5(scratch / "log.h5")
        self.content = (scratch / "log.h5").read_bytes()

    def make(self, folder: Path, rng: np.random.Generator) -> Made:
        if rng.random() < 0.6:
            return Made(write_odd_hdf5(folder / "log.h5", rng))
        content, words = damaged_bytes(self.content, rng)
        (folder / "log.h5").write_bytes(content)
        return Made(words)

    def read(self, folder: Path, rng: np.random.Generator) -> Any:
        return read_or_check(folder / "log.h5", rng, **({"propensity": "timeouts"} if rng.random() < 0.1 else {}))

    def same(self, value: Any) -> bool:
        return True


class Minari:
    """Data sets of Minari: its HDF5 file and its JSON files, damaged."""

    name, share, sealed = "minari", 3, False

    def prepare(self, scratch: Path) -> None:
        os.environ["MINARI_DATASETS_PATH"] = str(scratch / "minari")
        us.write(small_log(), "soak/log-v0", "minari")
        self.whole = scratch / "minari"

    def make(self, folder: Path, rng: np.random.Generator) -> Made:
        os.environ["MINARI_DATASETS_PATH"] = str(folder)
        shutil.copytree(self.whole, folder, dirs_exist_ok=True)
        path = folder / "soak/log-v0/data" / str(rng.choice(["main_data.hdf5", "metadata.json", "metadata.json"]))
        if path.suffix == ".json" and rng.random() < 0.7:
            known = json.loads(path.read_text(encoding="utf-8"))
            space = str(rng.choice(["observation_space", "action_space"]))
            inner = rng.random() < 0.5
            changed, words = damaged_json(json.loads(known[space]) if inner else known, rng)
            path.write_bytes(json_text(known | {space: json.dumps(changed)} if inner else changed))
            return Made(words)
        content, words = damaged_bytes(path.read_bytes(), rng)
        path.write_bytes(content)
        return Made(f"{path.name}: {words}")

    def read(self, folder: Path, rng: np.random.Generator) -> Any:
        return read_or_check("soak/log-v0", rng, format="minari")

    def same(self, value: Any) -> bool:
        return True


def csv_text() -> bytes:
    """Return a CSV of a log with numbers, text and dates."""
    lines = ["episode,step,observation,page,day,action,reward,terminated,propensity_0,propensity_1"]
    lines += [
        f"{row // 4},{row % 4},{row % 3},{'home' if row % 2 else 'cart, or list'!r},2024-05-{row % 28 + 1:02d},{row % 2},"
        f"{row % 5 / 4},{row % 4 == 3},0.5,0.5".replace("'", '"')
        for row in range(24)
    ]
    return "\n".join(lines).encode() + b"\n"


LABELS = b"observation,action,reward,terminated\n" + b"".join(
    f"page {row % 3},{'left' if row % 2 else 'right'},{row % 2},{row % 4 == 3}\n".encode() for row in range(16)
)

CLICKS = (
    b",timestamp,item_id,position,click,propensity_score,user_feature_0,user-item_affinity_0,user-item_affinity_1\n"
    + b"".join(
        f"{row},2019-11-24 00:03:{row:02d}.705207+00:00,{row % 2},{row % 3 + 1},{row % 2},0.5,cef{row % 3},0.0,1.0\n".encode()
        for row in range(12)
    )
)
ITEMS = b",item_id,item_feature_0,item_feature_1\n0,0,-0.67,ceca20033d7d\n1,1,-0.72,270de57201b8\n"

VW_LINES = b"""1:0.5:0.25 |user name=Tom age:31 |page home:2 new
3:-1:0.5 'tag7 |user name=Anna age:2.5 |page new

2:0:0.25 tag|user age:4 name=Tom
"""
VW_BLOCKS = b"""shared |user name=Tom
| id=a price:3
0:-1.5:0.7 | id=b price:4

shared |user name=Anna
0:2:0.3 | id=a price:3
| id=b price:4
"""

DECISIONS = [
    {
        "_label_cost": -float(row % 2), "_label_probability": 0.8, "_label_Action": 1, "_labelIndex": 0, "Version": "1",
        "EventId": str(row), "a": [1, 2], "p": [0.8, 0.2], "pdrop": 0.0,
        "c": {"user": {"age": 31 + row, "vip": True}, "page": "home", "tags": [1, 2.5],
              "_multi": [{"id": "news", "size": 2}, {"id": "sport", "size": 3}]},
    }
    for row in range(6)
]  # fmt: skip

LOG_KINDS = [
    ParquetFiles(), ParquetFolders(), ArrowFiles(), TextFiles("csv", 16, {"log.csv": csv_text(), "labels.csv": LABELS}),
    Packed(), DsJson(), TextFiles("vw", 8, {"log.vw": VW_LINES, "blocks.vw": VW_BLOCKS, "log": VW_BLOCKS}),
    TextFiles("open bandit", 6, {"men.csv": CLICKS, "item_context.csv": ITEMS}, "item_context.csv"), Hdf5(), Minari(),
]  # fmt: skip
