"""Damaged text files of logs: CSV, Vowpal Wabbit, Open Bandit and JSON lines, plain and compressed."""

import bz2
import gzip
from pathlib import Path
from typing import Any

import numpy as np

import understudy as us
from soak.kinds import Made
from soak.mutations import damaged_bytes, damaged_json, damaged_text, json_text

OPTIONS: list[dict[str, Any]] = [
    {"ends": "terminated"}, {"coding": "one-hot"}, {"order_by": "step"}, {"categories": ["observation"]},
    {"observation": "action"}, {"propensity": "reward"}, {"n_actions": 3}, {"renormalize": True}, {"unseen": "other"},
    {"actions": ["a", "b"]}, {"time": "step"}, {"n_samples": 10}, {"observation": ["reward", "action"]},
    {"n_actions": 2},
]  # fmt: skip
"""What else `read` is told in some cases."""


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


PAGES = ('"cart, or list"', '"home"')


def csv_text() -> bytes:
    """Return a CSV of a log with numbers, text and dates."""
    lines = ["episode,step,observation,page,day,action,reward,terminated,propensity_0,propensity_1"]
    lines += [
        f"{row // 4},{row % 4},{row % 3},{PAGES[row % 2]},2024-05-{row % 28 + 1:02d},{row % 2},"
        f"{row % 5 / 4},{row % 4 == 3},0.5,0.5"
        for row in range(24)
    ]
    return "\n".join(lines).encode() + b"\n"


LABELS = b"observation,action,reward,terminated\n" + b"".join(
    f"page {row % 3},{'left' if row % 2 else 'right'},{row % 2},{row % 4 == 3}\n".encode() for row in range(16)
)

CLICKS = (
    b",timestamp,item_id,position,click,propensity_score,user_feature_0,user-item_affinity_0,user-item_affinity_1\n"
    + b"".join(
        f"{row},2019-11-24 00:03:{row:02d}.705207+00:00,{row % 2},{row % 3 + 1},{row % 2},0.5,cef{row % 3},0.0,"
        "1.0\n".encode()
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

TEXT_KINDS = [
    TextFiles("csv", 16, {"log.csv": csv_text(), "labels.csv": LABELS}), Packed(), DsJson(),
    TextFiles("vw", 8, {"log.vw": VW_LINES, "blocks.vw": VW_BLOCKS, "log": VW_BLOCKS}),
    TextFiles("open bandit", 6, {"men.csv": CLICKS, "item_context.csv": ITEMS}, "item_context.csv"),
]  # fmt: skip
