"""Runs on a Ray cluster of two nodes: those of this process, whatever dies in the middle."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import understudy as us
from understudy.contracts import Backend, HasRemoteWorkers
from understudy.contracts.offering import offers
from understudy.errors import RunError, SettingError
from understudy.runs import ray_backend
from understudy.runs.ray_backend import OnRay, connected
from understudy.testing.rules import same_run

ray = pytest.importorskip("ray", reason="ray is not installed: pip install '.[ray]'")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # Ray's own sockets and files

NODE = {"num_cpus": 1, "object_store_memory": 80_000_000}


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("RAY_USAGE_STATS_ENABLED", "0")
        cluster = Cluster(initialize_head=True, head_node_args=NODE | {"include_dashboard": False})
        cluster.add_node(**NODE)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        yield cluster
        ray.shutdown()
        cluster.shutdown()


@pytest.fixture(scope="module")
def log():
    return us.record(us.envs.Grid(size=3), episodes=60, seed=0)


def make(seed):
    return us.learners.QLearning(9, 5, epsilon=0.9, seed=seed)


class Plain:
    """A learner without a compiled form."""

    def __init__(self, seed):
        self.mean = np.full(5, 0.1 * (seed % 3))

    def policy(self, observation):
        policy = np.full(5, 0.1)
        policy[self.mean.argmax()] += 0.5
        return policy

    def learn(self, step):
        self.mean[step.action] += 0.1 * (step.reward - self.mean[step.action])


def assert_same(ours, theirs):
    assert ours.about == theirs.about
    assert [run.seed for run in ours] == [run.seed for run in theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert same_run(one, other) if one.has_rows else one.stopped == other.stopped
        np.testing.assert_array_equal(one.ends, other.ends)
        np.testing.assert_array_equal(one.returns, other.returns)
        assert one.log == other.log
        for name in one.final:
            np.testing.assert_array_equal(one.final[name], other.final[name])


def once(path):
    """True the first time; False ever after."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


PROBES = {"q": lambda learner: learner.q.copy()}


@pytest.mark.parametrize("kind", ["compiled", "python", "a log for each run"])
def test_runs_are_those_of_this_process_bit_for_bit(kind, cluster, log):
    simulator, learner, options = us.psrs(log), make, {"runs": 12, "max_steps": 150}
    if kind == "compiled":
        options |= {"probes": PROBES, "every": 50}
    if kind == "python":
        learner = Plain
    if kind == "a log for each run":
        simulator = lambda seed: us.qbe(us.record(us.envs.Grid(size=3), episodes=20, seed=seed))  # noqa: E731
    ours = us.experiment(simulator, learner, backend="serial", **options)
    assert_same(ours, us.experiment(simulator, learner, backend="ray", **options))


def test_a_worker_that_is_killed_loses_nothing(cluster, log, tmp_path):
    driver = os.getpid()

    def dying(seed):
        if os.getpid() != driver and once(tmp_path / "killed"):
            os.kill(os.getpid(), signal.SIGKILL)
        return make(seed)

    options = {"runs": 8, "max_steps": 150}
    theirs = us.experiment(us.psrs(log), dying, backend="ray", out=tmp_path / "runs", **options)
    assert (tmp_path / "killed").exists()
    ours = us.experiment(us.psrs(log), dying, backend="serial", **options)
    assert_same(ours, theirs)
    assert_same(ours, us.load(tmp_path / "runs"))


@pytest.mark.slow
def test_runs_whose_worker_dies_again_and_again_are_given_up_and_no_others(cluster, log, tmp_path):
    deadly = us.experiment(us.psrs(log), make, runs=6, max_steps=5, backend="serial")[4].seed

    driver = os.getpid()

    def dying(seed):
        if seed == deadly and os.getpid() != driver:
            with open(tmp_path / "deaths", "a") as file:
                file.write("x")
            os.kill(os.getpid(), signal.SIGKILL)
        return make(seed)

    options = {"runs": 6, "max_steps": 150, "backend": us.backends.ray(max_retries=1), "out": tmp_path / "runs"}
    with pytest.warns(us.FailedRunsWarning, match="run 4"):
        found = us.experiment(us.psrs(log), dying, errors="keep", **options)
    assert [one.number for one in found.failed] == [4]
    assert "died 2 times" in found.failed[0].reason
    assert len(Path(tmp_path / "deaths").read_text()) == 2
    assert len(us.load(tmp_path / "runs")) == 5
    with pytest.raises(RunError, match=r"run 4 .* could not be made: the Ray worker that made it died 2 times"):
        us.experiment(us.psrs(log), dying, **options)


def test_runs_are_saved_here_as_they_finish_and_errors_are_noted(cluster, log, tmp_path):
    """No worker writes to the folder; a run that raises is noted in it, and the others are made by the same call."""
    bad = us.experiment(us.psrs(log), make, runs=5, max_steps=5, backend="serial")[3].seed

    class OwnError(Exception):
        pass

    def raising(seed):
        if seed == bad and not (tmp_path / "mended").exists():
            raise OwnError("mine")
        return make(seed)

    options = {"runs": 5, "max_steps": 150, "out": tmp_path / "runs"}
    with pytest.raises(Exception, match="mine") as caught:
        us.experiment(us.psrs(log), raising, backend="ray", **options)
    assert type(caught.value).__name__ == "OwnError"
    assert any(note.startswith("in run 3 (seed") for note in caught.value.__notes__)
    noted = us.load(tmp_path / "runs").failed
    assert [one.number for one in noted] == [3]
    assert "OwnError: mine" in noted[0].reason
    assert "raise OwnError" in noted[0].traceback
    with pytest.warns(us.FailedRunsWarning, match="run 3"):
        found = us.experiment(us.psrs(log), raising, backend="ray", errors="keep", **options)
    assert len(found) == 4
    assert len(us.load(tmp_path / "runs")) == 4
    (tmp_path / "mended").touch()
    found = us.experiment(us.psrs(log), raising, backend="ray", **options)
    assert_same(us.experiment(us.psrs(log), raising, backend="serial", **options | {"out": None}), found)
    assert us.load(tmp_path / "runs").failed == ()


def test_what_is_left_is_cancelled_and_workers_stay(cluster):
    def task(number, wanted):
        began = time.monotonic()
        while number and time.monotonic() - began < 60:
            time.sleep(0.01)
        return number

    began = time.monotonic()
    results = OnRay()(task, [0, 1, 2, 3], 2)
    assert next(results) == (0, 0)
    results.close()
    assert dict(OnRay()(lambda number, wanted: number, [7], 2)) == {7: 7}  # the cores are free again
    assert time.monotonic() - began < 50


def test_large_arrays_are_one_copy_on_each_node_and_small_ones_of_each_worker(cluster):
    large, small = np.arange(300_000.0), np.zeros(3)
    large.setflags(write=False)
    uniform = np.broadcast_to(np.full(4, 0.25), (400_000, 4))

    def look(number, wanted):
        small[0] += 1  # its own: it can be written on
        shared = any("plasma" in line or "/dev/shm" in line for line in mapped_at(large.__array_interface__["data"][0]))
        return shared, large.flags.writeable, float(large.sum()), uniform.strides, float(uniform.sum()), float(small[0])

    for _, answer in OnRay()(look, [0, 1], 2):
        shared, writeable, total, strides, of_uniform, counted = answer
        assert shared
        assert not writeable
        assert total == large.sum()
        assert strides == (0, 8)
        assert of_uniform == 400_000
        assert counted >= 1
    assert small[0] == 0


def mapped_at(address):
    """The lines of this process's memory map at an address."""
    with open("/proc/self/maps") as lines:
        for line in lines:
            low, high = (int(end, 16) for end in line.split()[0].split("-"))
            if low <= address < high:
                yield line


def test_what_a_run_needs_is_unpickled_once_for_all_tasks_of_a_worker(cluster, tmp_path):
    class Counted:
        def __call__(self, number, wanted):
            return os.getpid(), id(self)

        def __setstate__(self, state):
            with open(tmp_path / str(os.getpid()), "a") as file:
                file.write("x")

        def __getstate__(self):
            return {"some": "thing"}

    answers = {}
    for number, (process, _) in OnRay()(Counted(), list(range(12)), 2):
        answers[number] = process
    assert len(answers) == 12
    for process in set(answers.values()):
        assert (tmp_path / str(process)).read_text() == "x"


@pytest.mark.slow
def test_halves_comparisons_and_forecasts_run_there(cluster, log):
    simulator = us.psrs(log)
    given = {"runs": 4, "halves": 5, "runs_of_half": 2, "max_steps": 40}
    ours, theirs = (us.halves(simulator, make, backend=backend, **given).runs for backend in ("serial", "ray"))
    assert_same(ours, theirs)
    for one, other in zip(ours.halves, theirs.halves, strict=True):
        assert_same(one, other)
    ours, theirs = (us.forecast(simulator, make, pre_runs=4, backend=backend) for backend in ("serial", "ray"))
    assert ours == theirs
    two, given = {"one": make, "other": Plain}, {"runs": 4, "halves": 5, "max_steps": 400, "progress": False}
    ours, theirs = (us.compare(two, simulator, backend=backend, **given) for backend in ("serial", "ray"))
    assert ours.to_json() == theirs.to_json()


@pytest.mark.slow
def test_a_sweep_has_the_same_tables(cluster, log, tmp_path):
    options = {"runs": 10, "max_steps": 100, "every": 50, "probes": {"r": us.probes.reward_so_far}, "progress": False}
    made = [
        us.sweep({"q": make}, ["psrs", "qbe"], {"a": log}, out=tmp_path / backend, backend=backend, **options)
        for backend in ("serial", "ray")
    ]
    for table, keys in (("runs", ("simulator", "number")), ("curves", ("simulator", "number", "step"))):
        ours, theirs = (one.to_frame(table).sort_by([(key, "ascending") for key in keys]) for one in made)
        equal = [ours[name].equals(theirs[name]) for name in ours.column_names if name != "seconds"]
        assert len(ours) >= 20
        assert all(equal)


def test_it_is_a_backend_with_remote_workers(cluster):
    backend = us.backends.ray()
    assert offers(backend, Backend)
    assert offers(backend, HasRemoteWorkers)
    assert backend.n_workers == 2
    assert list(backend(lambda number, wanted: number, [], 2)) == []
    with pytest.raises(SettingError, match="max_retries"):
        us.backends.ray(max_retries=-1)


@pytest.mark.slow
def test_a_node_that_is_removed_loses_nothing(cluster, log, tmp_path):
    """The node is killed when both nodes are at a run; its runs are made by the other one."""
    node, driver = cluster.add_node(**NODE), os.getpid()

    def slow(seed):
        if os.getpid() != driver:
            (tmp_path / ray.get_runtime_context().get_node_id()).touch()
            time.sleep(0.3)
        return make(seed)

    removed = []

    def watched(run_block, blocks, workers):
        for result in OnRay()(run_block, blocks, 3):
            if not removed and (tmp_path / node.node_id).exists():
                cluster.remove_node(node, allow_graceful=False)
                removed.append(node)
            yield result

    watched.n_workers = 3
    options = {"runs": 16, "max_steps": 100}
    theirs = us.experiment(us.psrs(log), slow, backend=watched, out=tmp_path / "runs", **options)
    assert removed
    ours = us.experiment(us.psrs(log), slow, backend="serial", **options)
    assert_same(ours, theirs)
    assert_same(ours, us.load(tmp_path / "runs"))


def test_what_a_worker_lets_go_of_in_the_moment_a_task_comes_is_received_again(monkeypatch):
    class Reference:
        def hex(self):
            return "name"

    monkeypatch.setattr(ray, "get", lambda reference: "pieces")
    monkeypatch.setattr(ray_backend, "unpacked", lambda pieces: f"run_block of {pieces}")
    monkeypatch.setattr(ray_backend, "IDLE", 0.0)
    received = ray_backend._Received()
    forgets = threading.Event()

    def forget_slowly():
        forgets.set()
        time.sleep(0.2)
        received.__class__.forget(received)

    received.get(Reference())
    received.forget = forget_slowly
    received.wait()
    forgets.wait()
    del received.forget
    found = received.get(Reference())
    time.sleep(0.4)
    assert found == received._run_block == "run_block of pieces"


@pytest.mark.slow
def test_states_and_searches_of_encoders_and_runs_past_the_exact_horizon_are_the_same(cluster, log):
    cells = us.encoders.Function(lambda observations: observations % 4)
    ours, theirs = (us.encode(log, cells, backend=backend) for backend in ("serial", "ray"))
    np.testing.assert_array_equal(ours.state, theirs.state)
    np.testing.assert_array_equal(ours.next_state, theirs.next_state)
    options = {"latents": (6,), "widths": (8,), "seeds": (0, 1), "annealing": 60, "max_epochs": 2, "progress": False}
    ours, theirs = (us.encoders.Homer.search(log, backend=one, **options) for one in (None, us.backends.ray()))
    assert ours.settings == theirs.settings
    ladder = us.qbe(log, then=("reuse", "cut"), audit=False)
    given = {"probes": PROBES_OF_VALUES, "margin": 0.5, "max_steps": 300, "runs": 6, "halves_of_log": 5}
    ours, theirs = (us.beyond(ladder, make, backend=backend, **given) for backend in ("serial", "ray"))
    assert ours.to_json() == theirs.to_json()


PROBES_OF_VALUES = {"value": lambda learner: float(learner.q.max())}

DRIVER = """
import time
import understudy as us

log = us.record(us.envs.Grid(size=3), episodes=60, seed=0)

def make(seed):
    time.sleep(0.2)
    return us.learners.QLearning(9, 5, epsilon=0.9, seed=seed)

runs = us.experiment(us.psrs(log), make, runs=400, max_steps=150, backend=us.backends.ray({address!r}), out={out!r})
"""


def started(tmp_path, address):
    text = DRIVER.format(address=address, out=str(tmp_path / "out"))
    return subprocess.Popen([sys.executable, "-c", text], stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_an_interrupt_ends_a_driver_quietly_and_what_was_finished_is_whole(cluster, tmp_path):
    driver = started(tmp_path, cluster.address)
    until = time.monotonic() + 400
    while not list(tmp_path.glob("out/runs/*.json")) and time.monotonic() < until:
        time.sleep(0.1)
    driver.send_signal(signal.SIGINT)
    _, told = driver.communicate(timeout=120)
    assert told.rstrip().endswith("KeyboardInterrupt")
    assert told.count("Traceback") == 1  # Python's own
    assert 0 < len(us.load(tmp_path / "out")) < 400
    assert dict(OnRay()(lambda number, wanted: number, [7], 2)) == {7: 7}


class NoCluster:
    """Stands for the module `ray` where no cluster answers."""

    def __init__(self):
        self.asked = []

    def is_initialized(self):
        return False

    def init(self, address=None, **options):
        self.asked.append((address, options))
        if address is not None:
            raise ConnectionError("nobody answers")


def test_without_a_cluster_one_is_started_here_which_is_said(monkeypatch, capsys):
    found = NoCluster()
    monkeypatch.setitem(sys.modules, "ray", found)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    assert connected(None) is found
    (first, _), (second, options) = found.asked
    assert (first, second) == ("auto", None)
    assert options["include_dashboard"] is False
    assert capsys.readouterr().err.startswith("no Ray cluster was found: one with the ")


@pytest.mark.parametrize("way", ["argument", "variable"])
def test_an_address_where_nobody_answers_is_refused_and_nothing_is_started(way, monkeypatch):
    found = NoCluster()
    monkeypatch.setitem(sys.modules, "ray", found)
    monkeypatch.setenv("RAY_ADDRESS", "head:1")
    with pytest.raises(SettingError, match="no Ray cluster answers at address='head:1'; start one there"):
        connected("head:1" if way == "argument" else None)
    assert [address for address, _ in found.asked] == ["head:1"]
