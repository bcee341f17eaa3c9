"""Damaged and forged files of logs: every format that `read` knows."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

import understudy as us
from soak.kinds import Made
from soak.mutations import ODD_WORDS, damaged_bytes, damaged_json, json_text
from soak.odd_tables import odd_table, write_hdf5, write_odd_hdf5
from soak.text_files import TEXT_KINDS, read_or_check


def small_log() -> us.Log:
    """Return a log of 24 steps in six episodes, with text among its observations."""
    rng = np.random.default_rng(0)
    return us.Log.from_columns(
        observation=np.arange(24) % 4, action=rng.integers(0, 3, 24), reward=rng.integers(0, 2, 24) * 1.0,
        terminated=np.arange(24) % 4 == 3, propensity=np.full((24, 3), 1 / 3),
    )  # fmt: skip


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
                links = {"itself": path.name, "the folder above": "..", "nowhere": "none",
                         "the first": "part-0.parquet",
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


LOG_KINDS = [ParquetFiles(), ParquetFolders(), ArrowFiles(), *TEXT_KINDS, Hdf5(), Minari()]
