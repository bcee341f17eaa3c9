"""Damaged and forged files of ours: results folders, folders of `understudy simulate`, and encoders."""

import io
import json
import os
import pickle
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

import understudy as us
from soak.kinds import Made
from soak.mutations import ODD_WORDS, damaged_bytes, damaged_json, damaged_text
from understudy import results
from understudy.encoders.files import array_digest
from understudy.runs.describing import digest
from understudy.runs.folder import seal


class ResultsFolders:
    """Folders of `experiment(out=)` with halves and a failed run: each file damaged, or forged with a true digest."""

    name, share, sealed = "results folders", 10, True

    def prepare(self, scratch: Path) -> None:
        self.whole = scratch / "runs"
        log = us.record(us.envs.Grid(3), episodes=30, seed=0)
        make = _maker(log)
        us.halves(us.psrs(log), make, runs=4, halves=5, runs_of_half=2, every=20, out=self.whole,
                  progress=False, backend="serial",
                  probes={"value": us.probes.start_value(us.envs.Grid(3))})  # fmt: skip
        failed = {
            "format": 2,
            "experiment": us_identity(self.whole),
            "number": 9,
            "seed": 5,
            "reason": "E",
            "traceback": "T",
        }
        (self.whole / "runs/000009.failed.json").write_text(json.dumps(seal(failed)), encoding="utf-8")
        self.files = sorted(path.relative_to(self.whole) for path in self.whole.rglob("*") if path.is_file())
        self.loaded = pickle.dumps(fields_of(us.load(self.whole)))

    def make(self, folder: Path, rng: np.random.Generator) -> Made:
        shutil.copytree(self.whole, folder, dirs_exist_ok=True, copy_function=os.link)
        return damaged_file(folder, self.files[rng.integers(len(self.files))], rng)

    def read(self, folder: Path, rng: np.random.Generator) -> Any:
        runs = us.load(folder)
        if rng.random() < 0.2:
            us.efficiency(runs)
            str(runs), runs.to_frame()
        return runs

    def same(self, value: Any) -> bool:
        return pickle.dumps(fields_of(value)) == self.loaded


def us_identity(folder: Path) -> str:
    """Return the digest by which files of a results folder know that they belong to it."""
    return json.loads((folder / "experiment.json").read_text(encoding="utf-8"))["digest"]


def fields_of(runs: us.Runs) -> Any:
    """Return all that runs hold, in a form that can be compared bit for bit."""

    def one(run: Any) -> Any:
        held = (run.rows, run.openings) if run.has_rows else ()
        arrays = [np.asarray(part).tobytes() for part in (*held, run.ends, run.returns, run.steps)]
        return run.seed, arrays, {name: curve.tobytes() for name, curve in run.curves.items()}, str(run.stopped)

    return (
        [one(run) for run in runs],
        [[one(run) for run in half] for half in runs.halves],
        [str(f) for f in runs.failed],
    )


def _maker(log: us.Log) -> Any:
    n_states, n_actions = us.envs.Grid(3).observation_space.n, log.spec.n_actions
    return lambda seed: us.learners.QLearning(n_states, n_actions, epsilon=0.5, alpha=0.5, gamma=0.9, seed=seed)


def damaged_file(folder: Path, name: Path, rng: np.random.Generator) -> Made:
    """Damage one file of a folder of ours: its bytes, or its values with the digest made anew; or link it elsewhere."""
    path, how = folder / name, rng.random()
    whole = path.read_bytes()
    path.unlink()  # it is a link to the whole one
    if how < 0.04:
        links = {
            "itself": name.name,
            "a folder": "..",
            "nowhere": "none",
            "/dev/zero": "/dev/zero",
            "/etc/passwd": "/etc/passwd",
        }
        where = str(rng.choice([*links, "a pipe", "removed"]))
        if where == "a pipe":
            os.mkfifo(path)
        elif where != "removed":
            path.symlink_to(links[where])
        return Made(f"{name}: {where}")
    if path.suffix == ".json" and how < 0.7:
        content = json.loads(whole)
        content.pop("digest", None)
        changed, words = damaged_json(content, rng)
        if isinstance(changed, dict):
            changed = seal(changed)
        path.write_bytes(json.dumps(changed).encode("utf-8", "surrogatepass"))
        return Made(f"{name}, digest made anew: {words}")
    if path.suffix == ".parquet" and path.with_suffix(".json").exists() and how < 0.6:
        content, words = _odd_run(whole, rng) if rng.random() < 0.5 else damaged_bytes(whole, rng)
        path.write_bytes(content)
        marker = path.with_suffix(".json")
        summary = json.loads(marker.read_text(encoding="utf-8"))
        summary.pop("digest")
        marker.unlink()
        marker.write_text(json.dumps(seal(summary | {"parquet": digest(content)})), encoding="utf-8")
        return Made(f"{name}, digest made anew: {words}")
    damage = damaged_text if path.suffix == ".json" and rng.random() < 0.5 else damaged_bytes
    content, words = damage(whole, rng)
    path.write_bytes(content)
    return Made(f"{name}: {words}", forged=name.name.endswith(".failed.json"))  # one that is damaged is left out


def _odd_run(content: bytes, rng: np.random.Generator) -> tuple[bytes, str]:
    """Return the Parquet file of a run with one of its lists replaced."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(pa.BufferReader(content))
    at = int(rng.integers(table.num_columns))
    odd = [pa.array([[]], pa.list_(pa.int64())), pa.array([None], pa.list_(pa.int32())), pa.array([[1.5, None]]),
           pa.array(["text"]), pa.array([[-1, 2**31 - 1]], pa.list_(pa.int32())), pa.array([["a"]]), pa.array([7]),
           pa.array([[float("nan")] * 4]), pa.array([[2**62, -(2**62)]])]  # fmt: skip
    name = table.column_names[at]
    table = table.set_column(at, name, odd[rng.integers(len(odd))])
    if rng.random() < 0.2:
        table = pa.concat_tables([table, table]) if rng.random() < 0.5 else table.slice(0, 0)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes(), f"{name} replaced"


class Rehearsals:
    """Folders of `understudy simulate`, with all that lies beside the runs."""

    name, share, sealed = "simulate's folders", 6, True

    def prepare(self, scratch: Path) -> None:
        from contextlib import redirect_stderr, redirect_stdout

        from understudy.cli import main

        log = us.record(us.envs.Grid(3), episodes=60, seed=0)
        us.write(log, scratch / "grid.parquet")
        self.whole = scratch / "rehearsal"
        said = io.StringIO()
        with redirect_stdout(said), redirect_stderr(said):
            code = main(["simulate", str(scratch / "grid.parquet"), "--runs", "4", "--halves", "5", "--then", "reuse",
                         "--max-steps", "300", "--workers", "1", "--out", str(self.whole)])  # fmt: skip
        assert code == 0, said.getvalue()
        every = [path.relative_to(self.whole) for path in self.whole.rglob("*.json")]
        self.files = sorted(name for name in every if "halves" not in name.parts[:-1]) * 2 + sorted(every)

    def make(self, folder: Path, rng: np.random.Generator) -> Made:
        shutil.copytree(self.whole, folder, dirs_exist_ok=True, copy_function=os.link)
        return damaged_file(folder, self.files[rng.integers(len(self.files))], rng)

    def read(self, folder: Path, rng: np.random.Generator) -> Any:
        found = [read(folder) for read in (
            results.ResultsFolder.read, results.read_state_audit, results.read_selfcheck, results.read_forecasts,
            results.read_asked_of_forecasts, results.read_off_policy, results.read_rungs, results.read_beyond,
            results.read_beyond_of_runs, results.read_halves,
        )]  # fmt: skip
        return [*map(str, found), *(fields_of(results.load_set(path)) for path in us_folders(folder))]

    def same(self, value: Any) -> bool:
        return True


def us_folders(folder: Path) -> list[Path]:
    """Return the sets of runs in a folder of `understudy simulate`."""
    from understudy.runs.folder import folders_in

    return folders_in(folder)


class _Canary:
    """What runs when it is unpickled: it makes the file that must not be there."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("CANARY",)


class Encoders:
    """Files of encoders: damaged bytes; arrays, header and names forged with true digests; pickles, links and bombs."""

    name, share, sealed = "encoders", 10, True

    def prepare(self, scratch: Path) -> None:
        rng = np.random.default_rng(0)
        seen = rng.normal(size=(60, 2))
        us.encoders.Boxes(edges=[0.5, 1.0]).save(scratch / "boxes.npz")
        us.encoders.KMeans(3, seed=0).fit(_log_of(seen)).save(scratch / "kmeans.npz")
        self.contents = [(scratch / name).read_bytes() for name in ("boxes.npz", "kmeans.npz")]
        fitted = us.encoders.Identity().fit(_log_of(np.arange(60) % 5))
        fitted.save(scratch / "identity.npz")
        self.contents.append((scratch / "identity.npz").read_bytes())
        self.members = [dict(np.load(io.BytesIO(content))) for content in self.contents]

    def make(self, folder: Path, rng: np.random.Generator) -> Made:
        at, how = int(rng.integers(len(self.contents))), rng.random()
        path = folder / "encoder.npz"
        if how < 0.35:
            content, words = damaged_bytes(self.contents[at], rng)
            path.write_bytes(content)
            return Made(words, forged=False)
        members = dict(self.members[at])
        header = json.loads(members["header"].tobytes())
        arrays = {name: array for name, array in members.items() if name not in ("header", "digest")}
        words = "whole"
        if how < 0.6:
            header, words = damaged_json(header, rng)
        elif how < 0.8 and arrays:
            name = str(rng.choice(list(arrays)))
            odd = [np.zeros(0), np.full((2, 2), np.nan), np.array(["a", "b"]), np.zeros((0, 5)), np.array(3.0),
                   np.array(1e308), np.arange(5)[::-1].astype(np.int64), np.full(4, 2**63, np.uint64),
                   np.ones((1,) * 20), np.array([True])]  # fmt: skip
            arrays[name] = odd[rng.integers(len(odd))]
            header["digests"] = {key: array_digest(array) for key, array in arrays.items()}
            words = f"{name} replaced"
        elif how < 0.9 and isinstance(header, dict):
            names = ["os", "os.system", "antigravity", "this", "subprocess:Popen", "Forward", "Homer", "Boxes",
                     "KMeans", "../Boxes", *ODD_WORDS[:20]]  # fmt: skip
            header["encoder"] = names[rng.integers(len(names))]
            words = f"an encoder named {header['encoder']!r}"[:60]
        octets = np.frombuffer(json.dumps(header).encode("utf-8", "surrogatepass"), np.uint8)
        members = {"header": octets, "digest": np.array(array_digest(octets)), **arrays}
        _write_zip(path, members, rng, pickled=how >= 0.9)
        return Made(f"digests made anew: {words}" if how < 0.9 else "pickles, compressed, or names that lead outside")

    def read(self, folder: Path, rng: np.random.Generator) -> Any:
        encoder = us.encoders.load(folder / "encoder.npz")
        shape = None if encoder.contents().observation is None else encoder.contents().observation.shape
        sample = np.zeros((3, *(shape or ()))) if rng.random() < 0.9 else np.zeros(3, np.int64)
        try:
            return encoder.encode(sample).tobytes()
        except us.UnderstudyError as error:
            return str(error)

    def same(self, value: Any) -> bool:
        return True


def _log_of(observation: np.ndarray) -> us.Log:
    n = len(observation)
    return us.Log.from_columns(
        observation=observation, action=np.arange(n) % 2, reward=np.ones(n), terminated=np.arange(n) % 3 == 2
    )


def _write_zip(path: Path, members: dict[str, np.ndarray], rng: np.random.Generator, *, pickled: bool) -> None:
    """Write an .npz; a pickled one is wrong in a way that zip files allow."""
    way = str(rng.choice(["pickle", "bomb", "outside", "twice", "link", "literal", "packed"])) if pickled else ""
    packing = zipfile.ZIP_DEFLATED if way in ("bomb", "packed") else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, array in members.items():
            file = io.BytesIO()
            np.save(file, array)
            archive.writestr(f"{name}.npy", file.getvalue())
        if way == "pickle":
            file = io.BytesIO()
            np.save(file, np.array([_Canary()], object), allow_pickle=True)
            archive.writestr("states.npy", file.getvalue() if rng.random() < 0.5 else pickle.dumps(_Canary()))
        elif way == "bomb":
            archive.writestr("states.npy", bytes(50 << 20))
        elif way == "outside":
            archive.writestr(str(rng.choice(["../outside.npy", "/tmp/outside.npy", "..\\outside.npy"])), b"x")
        elif way == "link":
            info = zipfile.ZipInfo("link.npy")
            info.external_attr = 0o120777 << 16
            archive.writestr(info, "/etc/passwd")
        elif way == "literal":
            text = b"{'descr': __import__('os').mkdir('CANARY'), 'fortran_order': False, 'shape': (1,), }\n"
            archive.writestr("states.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(8))
        elif way == "twice":
            import warnings

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                archive.writestr("header.npy", b"again")


OWN_KINDS = [ResultsFolders(), Rehearsals(), Encoders()]
