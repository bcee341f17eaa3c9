import errno
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import understudy as us
from understudy import mapped
from understudy.encoders import Boxes, Function
from understudy.envs import Grid, NoisyGrid
from understudy.errors import EncoderError, LogError, SettingError
from understudy.learners import QLearning, Uniform
from understudy.logs import Log
from understudy.logs import log as logs_log
from understudy.logs.on_disk import place_of
from understudy.mapped import is_mapped
from understudy.runs import buffers
from understudy.simulators import any_row, index_on_disk, psrs, qbe, states_only
from understudy.simulators import index as in_memory
from understudy.simulators.index_on_disk import name_of_index
from understudy.simulators.kernels.records import RecordColumns

GRID = NoisyGrid(2, size=3, slip=0.2)
LOGGER = np.random.default_rng(0).dirichlet(np.ones(5), size=GRID.n_observations)
UNIFORM = np.full((GRID.n_observations, 5), 0.2)
LATENT = Function(GRID.latent)


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """The same logs in memory and on disk: of a uniform logger, and of one with propensities of its own."""
    folder, found = tmp_path_factory.mktemp("logs"), {}
    for name, logger in (("uniform", UNIFORM), ("own", LOGGER)):
        us.write(Log.from_columns(**GRID.rollout(logger, 60, seed=1)), folder / f"{name}.parquet")
        memory = us.read(folder / f"{name}.parquet")
        found[name] = memory, us.read(folder / f"{name}.parquet", on_disk=folder / name)
    return found


def assert_same_runs(one, other, make=lambda: QLearning(GRID.n_observations, 5, seed=1), **options):
    for seed in range(2):
        first, second = (us.simulate(simulator, make(), seed, **options) for simulator in (one, other))
        np.testing.assert_array_equal(first.rows, second.rows)
        np.testing.assert_array_equal(first.openings, second.openings)
        assert first.stopped == second.stopped


def assert_same_index(one, other):
    assert isinstance(other.records, RecordColumns)
    assert one.n_states == other.n_states
    assert one.fingerprint == other.fingerprint
    np.testing.assert_array_equal(one.state, other.state)
    np.testing.assert_array_equal(one.next_state, other.next_state)
    np.testing.assert_array_equal(one.opening, other.opening)
    np.testing.assert_array_equal(one.n_rows, other.n_rows)
    assert one.log.fingerprint == other.log.fingerprint
    assert [one.is_logged(state) for state in range(one.n_states)] == [
        other.is_logged(state) for state in range(one.n_states)
    ]
    assert [one.stop_fields(state) for state in range(one.n_states)] == [
        other.stop_fields(state) for state in range(one.n_states)
    ]


@pytest.mark.parametrize("height", [7, 10**6])
@pytest.mark.parametrize("logger", ["uniform", "own"])
@pytest.mark.parametrize("encoder", [None, LATENT, Boxes(bins=3)], ids=["codes", "function", "boxes"])
def test_the_index_of_a_log_on_disk_is_that_of_the_log_in_memory(encoder, logger, height, logs, tmp_path, monkeypatch):
    monkeypatch.setattr(mapped, "BLOCK", height)
    memory, disk = logs[logger]
    disk = us.read(place_of(disk).folder)
    for file in place_of(disk).folder.glob("index-*.json"):
        file.unlink()
    one, other = psrs(memory, encoder).index, psrs(disk, encoder).index
    assert_same_index(one, other)
    vector = other.records.vector if len(other.records.vector) else np.zeros(len(disk), int)
    np.testing.assert_array_equal(one.inverse_propensity[one.records["vector"]], other.inverse_propensity[vector])
    half = np.arange(0, memory.n_episodes, 2)
    assert_same_index(one.select(half), other.select(half))
    assert_same_index(one.select(half).select([2, 1]), other.select(half).select([2, 1]))


@pytest.mark.parametrize("compiled", [True, False])
def test_runs_on_disk_are_those_in_memory(compiled, logs):
    for memory, disk in logs.values():
        for make in (psrs, qbe):
            assert_same_runs(make(memory, LATENT), make(disk, LATENT), compiled=compiled)
    assert_same_runs(psrs(memory), psrs(disk), compiled=compiled)
    half = np.arange(0, memory.n_episodes, 2)
    for make in (psrs, qbe):
        assert_same_runs(make(memory, LATENT).select(half), make(disk, LATENT).select(half), compiled=compiled)


@pytest.mark.parametrize("options", [{"order": "rows"}, {"order": "log"}, {"openings": "replacement"}])
def test_options_change_runs_on_disk_as_they_do_in_memory(options, logs):
    memory, disk = logs["own"]
    for make in (psrs, qbe):
        assert_same_runs(make(memory, LATENT, **options), make(disk, LATENT, **options))


@pytest.fixture(scope="module")
def decisions(tmp_path_factory):
    """The same log of decisions of one row each, in memory and on disk: contexts, and the propensity of the chosen."""
    folder, rng = tmp_path_factory.mktemp("decisions"), np.random.default_rng(3)
    context, action = rng.integers(4, size=3000), rng.integers(3, size=3000)
    columns = {"observation": context, "action": action, "reward": rng.random(3000), "propensity": np.full(3000, 1 / 3)}
    own = rng.dirichlet(np.ones(3), size=4)[context]
    drawn = (own.cumsum(axis=1) < rng.random((3000, 1))).sum(axis=1)
    found = []
    for name, given in (("uniform", {}), ("own", {"action": drawn, "propensity": own})):
        us.write(Log.from_columns(**columns | given, ends="every-row"), folder / f"{name}.parquet")
        memory = us.read(folder / f"{name}.parquet")
        found.append((memory, us.read(folder / f"{name}.parquet", on_disk=folder / name)))
    return found


@pytest.mark.parametrize("height", [7, 10**6])
def test_whole_episodes_on_disk_are_those_in_memory(height, logs, decisions, monkeypatch):
    monkeypatch.setattr(mapped, "BLOCK", height)
    learners = [
        lambda: QLearning(4, 3, seed=1), lambda: Uniform(3), lambda: us.learners.EpsilonGreedy(3, seed=1),
        lambda: QLearning(2, 3, encoder=Function(lambda seen: seen % 2), seed=1),
    ]  # fmt: skip
    for memory, disk in decisions:
        one, other = us.replay(memory), us.replay(disk)
        assert repr(one) == repr(other)
        source = other.start(0).source
        assert is_mapped(source.rows)
        assert is_mapped(source.episodes)
        np.testing.assert_array_equal(one.start(0).source.rows, source.rows)
        np.testing.assert_array_equal(one.start(0).source.episodes, source.episodes)
        for make in learners:
            assert_same_runs(one, other, make)
        half = np.arange(0, memory.n_episodes, 2)
        assert_same_runs(one.select(half), other.select(half), learners[0])
        assert_same_runs(one.repeated(2), other.repeated(2), learners[0], max_steps=2000)
        for options in ({"bound": "quantile"}, {"bound": "running", "order": "log"}):
            assert_same_runs(us.replay(memory, **options), us.replay(disk, **options), learners[0])
    memory, disk = logs["own"]
    options = {"bound": 20.0, "order": "log"}
    assert_same_runs(us.pers(memory, **options), us.pers(disk, **options))


def test_baselines_means_and_copies_on_disk_are_those_in_memory(logs):
    memory, disk = logs["own"]
    for make in (
        lambda log: states_only(log, LATENT),
        any_row,
        lambda log: psrs(log, LATENT, order="rows", propensity="state mean"),
        lambda log: psrs(log, LATENT).repeated(3),
    ):
        assert_same_runs(make(memory), make(disk), max_steps=500)
    with pytest.raises(SettingError, match="is not repeated in order='rows'"):
        psrs(disk, order="rows").repeated(2)


@pytest.mark.slow  # each of these compiles loops of its own
@pytest.mark.parametrize("compiled", [True, False])
def test_reserves_and_ladders_on_disk_are_those_in_memory(compiled, logs):
    memory, disk = logs["own"]
    for make in (
        lambda log: psrs(log, LATENT, reserve=True),
        lambda log: qbe(log, LATENT, then=("reuse", "cut"), audit=False),
        lambda log: psrs(log, LATENT, then=("cut",), audit=False),
    ):
        assert_same_runs(make(memory), make(disk), compiled=compiled, max_steps=2000)


def test_learners_with_codes_of_their_own_get_the_same_ones(logs):
    memory, disk = logs["own"]
    for make in (
        lambda: QLearning(9, 5, encoder=LATENT, seed=1),
        lambda: QLearning(9, 5, encoder=Function(GRID.latent)),
    ):
        assert_same_runs(psrs(memory, LATENT), psrs(disk, LATENT), make)


@pytest.mark.slow
def test_vectors_on_disk_serve_learners_that_look_them_up_in_the_log(tmp_path):
    us.write(us.record(us.envs.ContinuousGrid(), episodes=60, seed=0), tmp_path / "log.parquet")
    memory, disk = us.read(tmp_path / "log.parquet"), us.read(tmp_path / "log.parquet", on_disk=tmp_path / "log")
    for encoder in (None, Boxes(bins=4)):
        one, other = psrs(memory, encoder), psrs(disk, encoder)
        assert_same_index(one.index, other.index)
        for make in (lambda: Uniform(5), lambda: us.learners.PPO(memory.spec, epoch_steps=100, seed=0)):
            assert_same_runs(one, other, make, max_steps=300)


def test_an_experiment_and_halves_are_the_same_on_disk(logs):
    memory, disk = logs["own"]

    def make(seed):
        return QLearning(GRID.n_observations, 5, seed=seed)

    one, other = us.experiment(psrs(memory, LATENT), make, runs=4), us.experiment(psrs(disk, LATENT), make, runs=4)
    assert one.about == other.about
    probes = {"start value": us.probes.start_value(memory)}
    options = {"runs": 4, "halves": 5, "runs_of_half": 2, "every": 20, "probes": probes, "progress": False}
    one, other = us.halves(psrs(memory, LATENT), make, **options), us.halves(psrs(disk, LATENT), make, **options)
    for ours, theirs in zip(one.halves, other.halves, strict=True):
        np.testing.assert_array_equal(ours.lengths, theirs.lengths)
    assert one.final() == other.final()


@pytest.mark.slow
def test_worker_processes_map_the_same_files(logs):
    memory, disk = logs["own"]
    make = lambda seed: QLearning(GRID.n_observations, 5, seed=seed)  # noqa: E731
    one = us.experiment(psrs(memory, LATENT), make, runs=4, backend="serial")
    other = us.experiment(psrs(disk, LATENT), make, runs=4, backend="processes", workers=2)
    for ours, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(ours.rows, theirs.rows)


def test_an_index_is_made_once_and_mapped_by_later_calls(logs, monkeypatch):
    memory, disk = logs["uniform"]
    for encoder in (None, Boxes(bins=3).fit(memory)):
        first, queues = psrs(disk, encoder), qbe(disk, encoder)
        assert is_mapped(first.index.on_disk.episodes)
        fingerprint = first.index.fingerprint
        with monkeypatch.context() as patched:
            patched.setattr(index_on_disk, "_make", None)
            again = us.read(place_of(disk).folder)
            patched.setattr(logs_log, "fingerprint_of", None)
            patched.setattr(in_memory.Index, "_fingerprint", None)
            assert psrs(again, encoder).index.fingerprint == fingerprint
            assert np.array_equal(qbe(again, encoder).queue_of, queues.queue_of)
            patched.setattr(index_on_disk, "states_in_files", None)
            with pytest.raises(TypeError):
                psrs(again, LATENT)  # whose states nobody can name, so that they are made anew


def test_indexes_have_names_by_encoder_and_propensities():
    encoders = [None, *(Boxes(bins=bins).fit(_small()) for bins in (2, 3))]
    names = [name_of_index(encoder, propensities) for encoder in encoders for propensities in (True, False)]
    assert len(set(names)) == 6
    assert name_of_index(Boxes(bins=2).fit(_small()), True) == names[2]
    assert name_of_index(LATENT, True) is None
    theirs = type("Theirs", (Boxes,), {})(bins=2).fit(_small())
    assert name_of_index(theirs, True) is None  # its code may change while its settings stay


def _small():
    return us.record(Grid(), episodes=5, seed=0)


def test_a_log_with_an_error_is_refused_each_time(tmp_path):
    table = {"observation": [0, 1], "action": [0, 1], "reward": [np.nan, 1.0], "terminated": [True, True]}
    log = us.read(table, on_disk=tmp_path / "log")
    for _ in range(2):
        with pytest.raises(LogError, match="reward"):
            qbe(log)


def test_a_damaged_index_is_made_again_and_one_of_another_log_is_not_used(logs, tmp_path):
    us.write(logs["own"][0], tmp_path / "log.parquet")
    log = us.read(tmp_path / "log.parquet", on_disk=tmp_path / "log")
    expected = psrs(log).index.opening.tolist()
    (manifest,) = (tmp_path / "log").glob("index-*-episodes.json")
    known = json.loads(manifest.read_text())
    for text in ("", json.dumps(known | {"facts": {"log": "another"}}), "{}"):
        manifest.write_text(text)
        assert psrs(us.read(tmp_path / "log")).index.opening.tolist() == expected
    opening = tmp_path / "log" / json.loads(manifest.read_text())["folder"] / "opening.array"
    opening.write_bytes(bytes(len(opening.read_bytes())))
    assert psrs(us.read(tmp_path / "log")).index.opening.tolist() == expected


KILLED = """
import os, signal, sys
import understudy as us
from understudy import stored_arrays
from understudy.simulators import index_on_disk
log = us.read(sys.argv[1])
of = dict(begin=index_on_disk, end=stored_arrays)[sys.argv[2]]
setattr(of, sys.argv[3], lambda *_: os.kill(os.getpid(), signal.SIGKILL))
us.psrs(log, us.encoders.load(sys.argv[4]))
"""


@pytest.mark.parametrize(
    ("when", "function", "made"),
    [("begin", "states_in_files", ["checked"]), ("begin", "count_rows", ["checked", "states"]),
     ("begin", "vectors_in_files", ["checked", "counts", "episodes", "states"]), ("end", "digest_of", ["checked"])],
)  # fmt: skip
def test_an_index_whose_making_was_killed_goes_on_at_the_part_that_is_missing(
    when, function, made, logs, tmp_path, monkeypatch
):
    memory = logs["own"][0]
    encoder = Boxes(bins=3).fit(memory)
    us.encoders.save(encoder, tmp_path / "boxes.npz")
    us.write(memory, tmp_path / "log.parquet")
    log = us.read(tmp_path / "log.parquet", on_disk=tmp_path / "log")
    arguments = [str(tmp_path / "log"), when, function, str(tmp_path / "boxes.npz")]
    done = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False)
    assert done.returncode < 0
    name = name_of_index(encoder, propensities=True)
    before = {path.name: path.read_bytes() for path in (tmp_path / "log").glob("index-*.json")}
    assert sorted(before) == [f"index-{name}-{part}.json" for part in made]
    assert_same_index(psrs(memory, encoder).index, psrs(log, encoder).index)
    assert before.items() <= {path.name: path.read_bytes() for path in (tmp_path / "log").glob("index-*.json")}.items()
    assert not [name for name in os.listdir(tmp_path / "log") if name.startswith(".making")]


FULL = """
import resource, sys
import understudy as us
log = us.read(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    us.qbe(log) if sys.argv[2] == "index" else log.select([0, 1])
except us.errors.LogError as error:
    print(error)
"""


@pytest.mark.parametrize("what", ["index", "selection"])
def test_a_full_disk_ends_in_a_sentence(what, logs, tmp_path):
    us.write(logs["own"][0], tmp_path / "log.parquet")
    us.read(tmp_path / "log.parquet", on_disk=tmp_path / "log")
    command = [sys.executable, "-c", FULL, str(tmp_path / "log"), what]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "cannot hold" in done.stdout, done.stderr
    assert "(File too large); free space there" in done.stdout


def test_states_that_were_encoded_before_are_taken_and_those_of_another_log_refused(logs):
    memory, disk = logs["own"]
    calls = []

    def encode(observations):
        calls.append(len(observations))
        return GRID.latent(observations)

    encoded = us.encode(disk, Function(encode))
    calls.clear()
    assert_same_index(psrs(memory, LATENT).index, psrs(disk, encoded).index)
    assert not calls
    with pytest.raises(EncoderError, match="another log"):
        psrs(logs["uniform"][1], encoded)


def test_a_log_on_disk_that_was_sent_elsewhere_is_in_memory_there(logs, monkeypatch):
    memory, disk = logs["own"]
    sent = pickle.loads(pickle.dumps(disk))
    assert place_of(sent) is None
    assert_same_runs(psrs(memory, LATENT), psrs(sent, LATENT))
    monkeypatch.setattr(buffers, "LARGE", 1)
    simulator = buffers.unpacked(buffers.packed(psrs(disk)))
    latent = lambda: QLearning(9, 5, encoder=Function(GRID.latent), seed=1)  # noqa: E731
    assert_same_runs(psrs(memory), simulator, latent)


def test_what_a_process_that_was_killed_left_of_an_index_is_removed(tmp_path, monkeypatch):
    us.write(Log.from_columns(**GRID.rollout(UNIFORM, 20, seed=1)), tmp_path / "log.parquet")
    disk = us.read(tmp_path / "log.parquet", on_disk=tmp_path / "log")
    left = [tmp_path / "log" / f"index-{name_of_index(None, False)}-{part}-{0:08x}" for part in ("counts", "queues")]
    for folder in left:
        folder.mkdir()
    for _ in range(2):
        index = index_on_disk.index(disk, None)
        index.on_disk.queues(index)
        assert not any(folder.exists() for folder in left)
        monkeypatch.setattr(index_on_disk, "_make", None)  # both are there


def test_where_the_disk_has_no_room_for_what_is_made_of_a_log_a_sentence_says_so(logs, monkeypatch):
    _, disk = logs["own"]

    def refuse(file, n_bytes):
        raise OSError(errno.ENOSPC, "No space left on device")

    def encode(observations):
        raise FileNotFoundError(errno.ENOENT, "No such file", "network.pt")

    with pytest.raises(FileNotFoundError):
        psrs(disk, Function(encode))
    monkeypatch.setattr(mapped, "allocate", refuse)
    for make in (lambda: psrs(disk, LATENT), lambda: disk.select([0, 1])):
        with pytest.raises(LogError, match="No space left on device"):
            make()
