"""Many runs: each by its seed alone, wherever it runs, and none that is finished is ever lost."""

import gc
import os
import signal
import sys
import tempfile
import threading
import time
from contextlib import nullcontext, suppress
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from understudy.contracts import Exhausted, Step, Stop
from understudy.encoders import Function
from understudy.envs import Grid, record
from understudy.errors import ContractError, LogError, PolicyError, ResultsError, SettingError
from understudy.learners import FixedPolicy, QLearning, Uniform, script
from understudy.logs import Log
from understudy.runs import Runs, experiment, load, probes, simulate
from understudy.runs.describing import plain
from understudy.runs.experiment import check_folder
from understudy.simulators import model, psrs, qbe, real

BACKENDS = ["serial", "threads", "processes"]
MEASURED = {"value": probes.start_value([0, 9]), "returns": probes.episode_returns, "visitation": probes.visitation}


def test_serial_threads_and_processes_give_the_same_runs(log, grid, make, assert_same_runs):
    simulator = psrs(log, Function(grid.latent))
    runs = {
        backend: experiment(simulator, make, runs=5, seed=3, probes=MEASURED, every=40, backend=backend, workers=2)
        for backend in BACKENDS
    }
    for backend in ("threads", "processes"):
        assert_same_runs(runs["serial"], runs[backend])
        assert runs[backend].about == runs["serial"].about
    in_python = experiment(simulator, make, runs=5, seed=3, probes=MEASURED, every=40, backend="serial", compiled=False)
    assert_same_runs(runs["serial"], in_python)


@pytest.mark.parametrize("simulator", ["psrs", "model", "real"])
def test_a_run_is_reproduced_by_its_seed(simulator, log, grid, make, assert_same):
    source = {"psrs": psrs(log), "model": model(log), "real": real(grid)}[simulator]
    for run in experiment(source, make, runs=4, max_steps=100, probes=MEASURED, every=30):
        assert_same(run, simulate(source, make(run.seed), run.seed, 100, probes=MEASURED, every=30))


def test_a_run_does_not_depend_on_how_many_there_are(log, make, assert_same_runs):
    simulator = psrs(log)
    assert_same_runs(experiment(simulator, make, runs=2), experiment(simulator, make, runs=6)[:2])


def test_experiments_of_different_seeds_share_no_run(log, make):
    simulator = psrs(log)
    seeds = [run.seed for seed in range(20) for run in experiment(simulator, make, runs=10, seed=seed, max_steps=1)]
    assert len(set(seeds)) == 200


def test_real_and_simulated_runs_of_the_same_seed_are_not_coupled(log, grid, make):
    sources = {
        "simulated": psrs(log), "real": real(grid), "simulated, made": lambda seed: psrs(log),
        "real, made": lambda seed: real(grid),
    }  # fmt: skip
    seeds = {
        name: {run.seed for run in experiment(source, make, runs=5, max_steps=1)} for name, source in sources.items()
    }
    for (one, its), (other, others) in product(seeds.items(), seeds.items()):
        if ("real" in one) != ("real" in other):
            assert not its & others, (one, other)


def test_runs_differ_from_each_other(log, make):
    runs = experiment(psrs(log), make, runs=5)
    assert len({tuple(run.rows) for run in runs}) == 5


def test_seeds_may_be_large_negative_or_numpys(log, make):
    for seed in (2**80, -1, np.int64(7)):
        assert len(experiment(psrs(log), make, runs=2, seed=seed, max_steps=5)) == 2


def test_what_is_learned_about_an_experiment(log, grid, make):
    about = experiment(psrs(log, Function(grid.latent)), make, runs=1, seed=4, max_steps=9, every=3).about
    assert about.simulator["simulator"] == "psrs"
    assert (about.log, about.log_rows, about.log_episodes) == (log.fingerprint, len(log), 60)
    assert (about.kind, about.own_logs, about.n_states) == ("simulated", False, 9)
    assert (about.seed, about.max_steps, about.every, len(about.probes)) == (4, 9, 3, 0)
    assert about.learner["class"] == "QLearning"


# Mistakes


@pytest.mark.parametrize("never_ending", ["model", "real"])
def test_where_nothing_runs_out_max_steps_must_be_given(never_ending, log, grid, make):
    with pytest.raises(SettingError, match="max_steps"):
        experiment({"model": model(log), "real": real(grid)}[never_ending], make, runs=2)


@pytest.mark.parametrize("runs", [0, -1])
def test_there_is_at_least_one_run(log, make, runs):
    with pytest.raises(SettingError, match=r"runs=.*whole number from 1"):
        experiment(psrs(log), make, runs=runs)


@pytest.mark.parametrize("runs", [2.5, "3", None])
def test_runs_are_a_whole_number(log, make, runs, tmp_path):
    with pytest.raises(SettingError, match="runs"):
        experiment(psrs(log), make, runs=runs, out=tmp_path / "results")
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("every", [0, -5, 1.5])
def test_every_is_a_whole_number_of_steps(log, make, every):
    with pytest.raises(SettingError, match=r"every=.*whole number"):
        experiment(psrs(log), make, runs=1, every=every)


def test_an_unknown_backend_is_refused(log, make):
    with pytest.raises(SettingError, match="backend='thread' is not one of 'serial', 'threads', 'processes'"):
        experiment(psrs(log), make, runs=1, backend="thread")


@pytest.mark.parametrize("workers", [-1, 0])
def test_workers_count_from_one(log, make, workers):
    with pytest.raises(SettingError, match="workers"):
        experiment(psrs(log), make, runs=2, workers=workers)


def test_a_learner_in_place_of_a_factory_is_refused(log):
    with pytest.raises(ContractError, match="function seed -> learner"):
        experiment(psrs(log), QLearning(18, 5), runs=1)


def test_a_log_in_place_of_a_simulator_is_refused(log, make):
    with pytest.raises(ContractError, match="neither a simulator nor a function"):
        experiment(log, make, runs=1)


def test_another_number_of_actions_is_refused(log):
    with pytest.raises(PolicyError, match="learner has 4 actions"):
        experiment(psrs(log), lambda seed: QLearning(18, 4, seed=seed), runs=2)


@pytest.mark.parametrize(
    ("policy", "fault", "backend"),
    [([np.nan] * 5, "NaN", "serial"), ([0.5, 0.5], "shape", "threads"), ([np.nan] * 5, "NaN", "processes")],
)
def test_what_is_not_a_policy_is_refused_and_its_run_named(log, policy, fault, backend):
    def make(seed):
        return FixedPolicy(lambda observation: np.array(policy))

    with pytest.raises(PolicyError, match=fault) as caught:
        experiment(psrs(log), make, runs=2, backend=backend, workers=1)
    step, run = caught.value.__notes__[:2]
    assert step == "at step 1 of FixedPolicy"
    assert run.startswith("in run ")
    assert "(seed " in run


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_probe_that_raises_is_named_with_run_and_step_and_finished_runs_are_kept(
    log, make, backend, tmp_path, assert_same
):
    doomed = experiment(psrs(log), make, runs=4, max_steps=1)[3].seed

    class OwnError(Exception):
        pass

    def made(seed):
        learner = make(seed)
        learner.doomed = seed == doomed
        return learner

    def broken(learner):
        if learner.doomed:
            time.sleep(0.5)  # the others finish first
            raise OwnError("no such thing")
        return 1.0

    measured = {"fine": lambda learner: 1.0, "broken": broken}
    with pytest.raises(Exception, match="no such thing") as caught:
        experiment(psrs(log), made, runs=4, probes=measured, every=20, backend=backend, workers=2, out=tmp_path / "r")
    assert type(caught.value).__name__ == "OwnError"
    assert caught.value.__notes__ == ["raised by probe 'broken' after 20 steps", f"in run 3 (seed {doomed})"]
    kept = load(tmp_path / "r")
    assert len(kept) == 3
    for run in kept:
        assert_same(run, simulate(psrs(log), made(run.seed), run.seed, probes=measured, every=20))


# Learners and simulators of others


def test_a_learner_without_arrays_runs_in_processes_by_default(log):
    class Even:
        def __init__(self):
            self.pid = os.getpid()

        def policy(self, observation):
            return np.full(5, 0.2)

        def learn(self, step):
            assert isinstance(step, Step)

    simulator, where = psrs(log), {"pid": lambda learner: float(learner.pid)}
    runs = experiment(simulator, lambda seed: Even(), runs=3, probes=where, workers=2)
    assert os.getpid() not in {run.final["pid"] for run in runs}
    for run in runs:
        np.testing.assert_array_equal(run.rows, simulate(simulator, Uniform(5), run.seed).rows)


def test_a_learner_that_compiles_stays_in_this_process_by_default(log, make):
    runs = experiment(psrs(log), make, runs=3, probes={"pid": lambda learner: float(os.getpid())}, workers=2)
    assert {run.final["pid"] for run in runs} == {os.getpid()}


def test_a_large_array_in_a_factory_reaches_processes_and_leaves_nothing(log, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def mapped_in_workers():
        ballast = np.random.default_rng(0).random(1 << 18)

        class Heavy:
            def __init__(self):
                self.is_mapped = isinstance(ballast.base, np.memmap)

            def policy(self, observation):
                return np.full(5, 0.2)

            def learn(self, step):
                pass

        measured = {"mapped": lambda learner: float(learner.is_mapped)}
        runs = experiment(
            psrs(log), lambda seed: Heavy(), runs=2, max_steps=20, probes=measured, backend="processes", workers=1
        )
        return [run.final["mapped"] for run in runs]

    assert mapped_in_workers() == [1.0, 1.0]
    gc.collect()  # files last as long as their arrays
    assert os.listdir(tmp_path) == []


class Countdown:
    """A simulator that only keeps the promises of contracts."""

    def start(self, seed):
        return Counting(seed % 7 + 3)


class Counting:
    def __init__(self, n):
        self.n, self.row = n, 0

    def begin(self):
        return 0

    def step(self, policy):
        if self.row == self.n:
            raise Exhausted(Stop("queue empty", state=0, counts={"steps": self.n}))
        self.row += 1
        return Step(0, int(np.argmax(policy)), 1.0, 0, False, False, row=self.row - 1)


def test_a_simulator_of_promises_only_makes_experiments(tmp_path, assert_same_runs):
    runs = experiment(Countdown(), lambda seed: Uniform(2), runs=3, backend="serial", out=tmp_path / "r")
    assert [len(run) for run in runs] == [run.seed % 7 + 3 for run in runs]
    assert runs.about.simulator == {"simulator": "Countdown"}
    assert_same_runs(load(tmp_path / "r"), runs)


@pytest.mark.parametrize(
    "extra", [{"settings": {"speed": 3}}, {"index": 5}, {"log": []}, {"kind": "toy"}, {"n_states": 1}]
)
def test_a_simulator_of_others_may_have_attributes_of_its_own(extra, tmp_path):
    class Mine(Countdown):
        pass

    for name, value in extra.items():
        setattr(Mine, name, value)
    runs = experiment(Mine(), lambda seed: Uniform(2), runs=2, backend="serial", out=tmp_path / "r")
    assert len(runs) == 2


class Bare:
    """A learner that holds something, and tells no settings."""

    def __init__(self, **held):
        self.__dict__ |= held

    def policy(self, observation):
        return np.full(5, 0.2)

    def learn(self, step):
        pass


class Slotted(Bare):
    __slots__ = ("_rate",)

    def __init__(self, rate):
        self._rate = rate


class Slow(Countdown):
    """A simulator that tells no settings."""

    def __init__(self, length):
        self._length = length

    def start(self, seed):
        return Counting(self._length)


@pytest.mark.parametrize(
    "learner", [Slotted, lambda rate: Bare(_inner=Bare(_rate=rate)), lambda rate: Bare(f=lambda: rate)]
)
def test_a_folder_of_another_learner_of_ones_own_is_refused(learner, log, tmp_path):
    options = {"runs": 1, "max_steps": 5, "out": tmp_path / "r", "backend": "serial"}
    experiment(psrs(log), lambda seed: learner(1), **options)
    experiment(psrs(log), lambda seed: learner(1), **options)
    with pytest.raises(ResultsError, match="another experiment: learner"):
        experiment(psrs(log), lambda seed: learner(2), **options)


def test_whether_a_folder_can_go_on_is_told_without_writing(log, make, tmp_path):
    settings = {"seed": 1, "every": 50, "max_steps": 100}
    check_folder(tmp_path / "new", psrs(log), make, **settings)
    assert not (tmp_path / "new").exists()
    experiment(psrs(log), make, runs=2, out=tmp_path / "old", backend="serial", **settings)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    check_folder(tmp_path / "old", psrs(log), make, **settings)
    with pytest.raises(ResultsError, match="simulator order is episodes there and log here"):
        check_folder(tmp_path / "old", psrs(log, order="log"), make, **settings)
    with pytest.raises(ResultsError, match="every is 50 there and 60 here"):
        check_folder(tmp_path / "old", psrs(log), make, **settings | {"every": 60})
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_folder_of_another_simulator_of_ones_own_is_refused(tmp_path):
    options = {"runs": 1, "out": tmp_path / "r", "backend": "serial"}
    experiment(Slow(3), lambda seed: Uniform(2), **options)
    experiment(Slow(3), lambda seed: Uniform(2), **options)
    with pytest.raises(ResultsError, match="another experiment: simulator _length is 3 there and 4 here"):
        experiment(Slow(4), lambda seed: Uniform(2), **options)


def test_what_cannot_be_described_is_refused_with_out_only(log, tmp_path):
    def make(seed):
        return Bare(net=Bare(handle=threading.Lock()))

    assert len(experiment(psrs(log), make, runs=1, max_steps=5, backend="serial")) == 1
    told = r"learner\.net\.handle is a _thread\.lock, which cannot be described; .* give the class .* settings"
    with pytest.raises(ResultsError, match=told):
        experiment(psrs(log), make, runs=1, max_steps=5, backend="serial", out=tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_settings_say_what_cannot_be_described(log, tmp_path):
    class Told(Bare):
        @property
        def settings(self):
            return {"rate": self.rate}

    options = {"runs": 1, "max_steps": 5, "out": tmp_path / "r", "backend": "serial"}
    for _ in range(2):
        experiment(psrs(log), lambda seed: Told(rate=1, _lock=threading.Lock()), **options)
    with pytest.raises(ResultsError, match="learner rate is 1 there and 2 here"):
        experiment(psrs(log), lambda seed: Told(rate=2, _lock=threading.Lock()), **options)


@pytest.mark.parametrize("name", [3, None, ("a",), "\ud800", b"x"])
def test_names_of_probes_that_no_file_can_hold_are_refused_before_anything_runs(name, log, make, tmp_path):
    with pytest.raises(SettingError, match="a probe is named"):
        experiment(psrs(log), make, runs=2, probes={name: lambda learner: 1.0}, out=tmp_path / "r")
    assert not (tmp_path / "r").exists()
    with pytest.raises(SettingError, match="a probe is named"):
        simulate(psrs(log), make(0), probes={name: lambda learner: 1.0})


@pytest.mark.parametrize("name", ["", "a\0b", "\u00e9\n", "curve value", "../x", "x" * 5000])
def test_any_other_name_of_a_probe_comes_back_as_it_was(name, log, make, tmp_path):
    runs = experiment(psrs(log), make, runs=1, max_steps=40, probes={name: lambda learner: 2.0}, every=9, out=tmp_path)
    again = load(tmp_path)
    assert runs.probes == again.probes == [name]
    np.testing.assert_array_equal(again[0].curves[name], [2.0] * 4)


@pytest.mark.parametrize("runs", [True, float("nan"), 10**30, 10**6 + 1, [3]])
def test_runs_of_odd_types_are_refused(log, make, runs):
    with pytest.raises(SettingError, match=r"^runs is .*; give runs=, a whole number from 1 to 1000000$"):
        experiment(psrs(log), make, runs=runs)


# A log of its own for each run


def test_a_factory_gives_each_run_a_log_of_its_own(grid, make, assert_same):
    def simulator(seed):
        return psrs(Log.from_columns(**grid.rollout(np.full((18, 5), 0.2), 30, seed=seed)), Function(grid.latent))

    runs = experiment(simulator, make, runs=4, probes=MEASURED, every=40)
    assert runs.about.own_logs is True
    for run in runs:
        assert_same(run, simulate(simulator(run.seed), make(run.seed), run.seed, probes=MEASURED, every=40))


def test_a_factory_gives_the_same_runs_everywhere(grid, make, assert_same_runs, tmp_path):
    def simulator(seed):
        return qbe(Log.from_columns(**grid.rollout(np.full((18, 5), 0.2), 30, seed=seed)), Function(grid.latent))

    runs = [
        experiment(simulator, make, runs=4, probes=MEASURED, every=40, backend=backend, workers=workers)
        for backend, workers in (("serial", 1), ("threads", 2), ("processes", 1))
    ]
    assert_same_runs(runs[0], runs[1])
    assert_same_runs(runs[0], runs[2])
    experiment(simulator, make, runs=2, probes=MEASURED, every=40, out=tmp_path / "r")
    assert_same_runs(experiment(simulator, make, runs=4, probes=MEASURED, every=40, out=tmp_path / "r"), runs[0])


def test_a_factory_that_returns_one_log_again_and_again_gives_no_logs_of_their_own(log, grid, make):
    same = psrs(log)
    for factory in (lambda seed: same, lambda seed: psrs(log), lambda seed: psrs(log.select(range(60))),
                    lambda seed: real(grid)):  # fmt: skip
        assert experiment(factory, make, runs=2, max_steps=10).about.own_logs is False


def test_a_factory_that_fails_names_the_run(log, make):
    good = experiment(lambda seed: psrs(log), make, runs=4, max_steps=1)

    def factory(seed):
        if seed == good[3].seed:
            raise LogError("there is no log for this one")
        return psrs(log)

    with pytest.raises(LogError, match="no log for this one") as caught:
        experiment(factory, make, runs=4, backend="serial")
    assert caught.value.__notes__ == [f"in run 3 (seed {good[3].seed})"]


# Interrupted


SLOW = """
import sys, time
import numpy as np
from understudy.envs import NoisyGrid
from understudy.learners import QLearning
from understudy.envs import record
from understudy.logs import Log
from understudy.runs import experiment, probes
from understudy.simulators import psrs

grid = NoisyGrid(1, size=3, slip=0.2)
log = Log.from_columns(**grid.rollout(np.full((18, 5), 0.2), 60, seed=0))
out, backend = sys.argv[1:]

def make(seed):
    time.sleep(0.15)
    with open(out + ".made", "a") as file:
        print(seed, file=file)
    return QLearning(18, 5, epsilon=0.5, seed=seed)

try:
    measured = {"value": probes.start_value([0, 9])}
    runs = experiment(psrs(log), make, runs=12, max_steps=100, probes=measured, every=50, out=out,
                      backend=backend, workers=2)
    print("finished", len(runs))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.fixture(scope="session")
def uninterrupted(log, make):
    measured = {"value": probes.start_value([0, 9])}
    return experiment(psrs(log), make, runs=12, max_steps=100, probes=measured, every=50)


def finished(out):
    return sorted(int(path.stem) for path in (Path(out) / "runs").glob("*.json"))


def wait_for(condition, seconds=120.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.01)


def go_on(script, out, backend):
    """The experiment of the script, gone on with; the runs and the seeds for which a learner was made."""
    made = Path(f"{out}.made")
    made.unlink()
    told, error = script(SLOW, out, backend).communicate()
    assert told == "finished 12\n", error
    return load(out), set(map(int, made.read_text().split()))


@pytest.mark.parametrize("backend", [pytest.param("threads", marks=pytest.mark.slow), "processes"])
def test_after_a_kill_an_experiment_goes_on_as_if_it_had_never_been_interrupted(
    backend, script, tmp_path, log, make, uninterrupted, assert_same_runs
):
    out = tmp_path / "results"
    process = script(SLOW, out, backend)
    wait_for(lambda: len(finished(out)) >= 3)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = finished(out)
    assert 3 <= len(before) < 12
    kept = load(out)
    assert_same_runs(kept, Runs(tuple(uninterrupted[number] for number in before)))
    runs, made = go_on(script, out, backend)
    assert_same_runs(runs, uninterrupted)
    done = {uninterrupted[number].seed for number in before if number > 0}  # the first is made to be described
    assert not done & made


@pytest.mark.parametrize(
    ("backend", "to"),
    [
        ("threads", "process"),
        pytest.param("processes", "process", marks=pytest.mark.slow),
        pytest.param("processes", "group", marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_loses_no_finished_run_and_leaves_no_half(
    backend, to, script, tmp_path, log, make, uninterrupted, assert_same_runs, monkeypatch
):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    out = tmp_path / "results"
    process = script(SLOW, out, backend)
    wait_for(lambda: len(finished(out)) >= 3)
    before = finished(out)
    (os.killpg if to == "group" else os.kill)(process.pid, signal.SIGINT)
    said, complained = process.communicate(timeout=30)
    assert said == "interrupted\n", complained
    assert process.returncode == 0
    after = finished(out)
    assert set(before) <= set(after)
    assert len(after) < 12
    assert [path.name for path in out.rglob("*") if path.name.startswith(".")] == []
    assert {path.stem for path in (out / "runs").glob("*.parquet")} == {f"{number:06d}" for number in after}
    assert [path for path in (tmp_path / "scratch").iterdir() if path.name.startswith("understudy")] == []
    runs, _ = go_on(script, out, backend)
    assert_same_runs(runs, uninterrupted)


def alive(group):
    """The processes of a group that have not ended."""
    told = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just ended
            told.append(path.read_text().rpartition(")")[2].split())
    return [fields for fields in told if int(fields[2]) == group and fields[0] not in "ZX"]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_workers_and_their_files_do_not_outlive_a_killed_experiment(script, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    process = script(SLOW, tmp_path / "results", "processes")
    wait_for(lambda: len(finished(tmp_path / "results")) >= 1)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    try:
        wait_for(lambda: not alive(process.pid), 60)
        assert list((tmp_path / "scratch").glob("understudy-*")) == []
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def test_ctrl_c_ends_a_long_compiled_run(script, tmp_path):
    process = script(
        """
        import sys
        from understudy.envs import Grid
        from understudy.learners import Uniform
        from understudy.runs import experiment, simulate
        from understudy.simulators import real

        simulate(real(Grid()), Uniform(5), max_steps=10)
        print("ready", flush=True)
        try:
            experiment(real(Grid()), lambda seed: Uniform(5), runs=4, max_steps=10**11, workers=2)
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    os.kill(process.pid, signal.SIGINT)
    said, complained = process.communicate(timeout=30)
    assert said == "interrupted\n", complained


def test_runs_are_written_as_they_finish(log, make, tmp_path):
    out, seen = tmp_path / "r", []

    def watch(learner):
        seen.append(len(finished(out)))
        return 0.0

    experiment(psrs(log), make, runs=4, max_steps=10, probes={"w": watch}, backend="serial", out=out)
    assert seen == [0, 1, 2, 3]


def test_an_interrupt_while_a_run_is_written_leaves_no_half(log, make, tmp_path, monkeypatch, assert_same_runs):
    def interrupted(path, text, **options):
        path.write_bytes(text[:5].encode())
        raise KeyboardInterrupt

    out = tmp_path / "r"
    experiment(psrs(log), make, runs=1, max_steps=10, out=out)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", interrupted)
        with pytest.raises(KeyboardInterrupt):
            experiment(psrs(log), make, runs=4, max_steps=10, out=out, backend="threads")
    assert [path.name for path in out.rglob("*") if path.name.startswith(".")] == []
    assert finished(out) == [0]
    again = experiment(psrs(log), make, runs=4, max_steps=10, out=out)
    assert_same_runs(again, experiment(psrs(log), make, runs=4, max_steps=10))


def test_an_env_with_a_generator_of_its_own_gives_the_same_runs_everywhere(make, assert_same_runs):
    class Opaque(Grid):
        tables = property()

    simulator = real(Opaque(size=3, slip=0.3))
    options = {"runs": 3, "max_steps": 50, "probes": MEASURED, "every": 20, "workers": 1}
    runs = [experiment(simulator, make, backend=backend, **options) for backend in ("serial", "processes")]
    assert_same_runs(*runs)


def test_what_finished_before_an_interrupt_is_kept(log, make, tmp_path, monkeypatch):
    module = sys.modules["understudy.runs.experiment"]  # the package has a function of that name
    plan = sys.modules["understudy.runs.plan"]
    finished = []

    def counted(*arguments, **options):
        run = simulate(*arguments, **options)
        finished.append(run.seed)
        return run

    def interrupt(done):
        if done >= 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(plan, "simulate", counted)
    monkeypatch.setattr(module, "progress_bar", lambda *arguments: nullcontext(interrupt))
    with pytest.raises(KeyboardInterrupt):
        experiment(psrs(log), make, runs=50, workers=2, backend="threads", out=tmp_path / "r")
    assert 2 <= len(finished) < 50
    assert sorted(run.seed for run in load(tmp_path / "r")) == sorted(finished)


def test_runs_that_share_some_logs_are_not_taken_for_independent(grid, make):
    logs = [record(grid, episodes=20, seed=seed) for seed in range(2)]
    simulators = [psrs(log) for log in logs]
    for seed in range(4):
        runs = experiment(lambda seed: simulators[seed % 2], make, runs=10, seed=seed, max_steps=20)
        assert runs.about.own_logs is False


def test_learners_that_own_their_loop_do_not_learn_side_by_side(log):
    """They draw from generators of the whole process, which the other one would seed anew."""
    both, met = threading.Barrier(2), []

    def learn(env, seed):
        env.reset()
        with suppress(threading.BrokenBarrierError):
            both.wait(timeout=0.2)
            met.append(seed)

    experiment(psrs(log), script(learn), runs=2, workers=2, backend="threads")
    assert both.broken
    assert not met


# What makes an experiment another one


def by_table(rates):
    return lambda seed: QLearning(18, 5, epsilon=rates.get(seed, 0.5), seed=seed)


def test_a_make_that_differs_for_later_runs_only_is_another_one(log, tmp_path):
    options = {"runs": 2, "max_steps": 5, "out": tmp_path / "r", "backend": "serial"}
    seeds = [run.seed for run in experiment(psrs(log), by_table({}), **options)]
    experiment(psrs(log), by_table({}), **options | {"runs": 3})
    with pytest.raises(ResultsError, match=r"make is .*by_table.* there and .*by_table.* here"):
        experiment(psrs(log), by_table({seeds[1]: 0.1}), **options)


def test_a_factory_that_differs_for_later_runs_only_is_another_one(log, grid, make, tmp_path):
    other = Log.from_columns(**grid.rollout(np.full((18, 5), 0.2), 30, seed=1))

    def factory(logs):
        return lambda seed: psrs(logs.get(seed, log))

    options = {"runs": 2, "max_steps": 5, "out": tmp_path / "r", "backend": "serial"}
    seeds = [run.seed for run in experiment(factory({}), make, **options)]
    experiment(factory({}), make, **options | {"runs": 3})
    with pytest.raises(ResultsError, match="factory is"):
        experiment(factory({seeds[1]: other}), make, **options)


def test_what_a_learner_knows_before_its_first_step_makes_another_experiment(log, tmp_path):
    prior = np.zeros((18, 5))

    class Make:
        settings = {"kind": "warm"}  # noqa: RUF012

        def __call__(self, seed):
            learner = QLearning(18, 5, seed=seed)
            learner.q[:] = prior_of()
            return learner

    def prior_of():
        return prior

    options = {"runs": 2, "max_steps": 5, "out": tmp_path / "r", "backend": "serial"}
    for _ in range(2):
        experiment(psrs(log), Make(), **options)
    prior[3] = 1.0
    with pytest.raises(ResultsError, match="another experiment"):
        experiment(psrs(log), Make(), **options)


@pytest.mark.slow
def test_an_experiment_of_lambdas_goes_on_in_another_process(script, tmp_path):
    text = """
    import sys
    import numpy as np
    from understudy.encoders import Function
    from understudy.envs import NoisyGrid
    from understudy.learners import PPO
    from understudy.envs import record
    from understudy.runs import experiment
    from understudy.simulators import psrs

    grid = NoisyGrid(1, size=3)
    log = record(grid, episodes=20, seed=0)
    states = Function(grid.latent)
    options = {"hidden": (4,), "epoch_steps": 50}
    make = lambda seed: PPO(log.spec, seed=seed, **options)
    factory = lambda seed: psrs(log, states)
    for simulator, out in ((psrs(log, states), "one"), (factory, "each")):
        runs = experiment(simulator, make, runs=int(sys.argv[2]), max_steps=60, out=sys.argv[1] + out, backend="serial")
        print(len(runs))
    """
    for runs in (1, 2):
        told, error = script(text, tmp_path / "r", runs).communicate()
        assert told.split() == [str(runs)] * 2, error


class Opaque:
    """A learner and a simulator at once, of which others show a text only."""

    def __init__(self, simulator=None, seed=0):
        self.simulator, self.seed = simulator, seed
        self.log = getattr(simulator, "log", None)

    def __getstate__(self):
        return {"seed": self.seed}

    def policy(self, observation):
        return np.full(5, 0.2)

    def learn(self, step):
        pass

    def start(self, *arguments, **options):
        return self.simulator.start(*arguments, **options)


def test_a_learner_or_simulator_that_is_shown_as_a_text_makes_experiments(log, make, tmp_path, monkeypatch):
    monkeypatch.setattr(Opaque, "__module__", "numpy")  # as if it were installed
    assert isinstance(plain(Opaque()), str)
    options = {"runs": 2, "max_steps": 5, "backend": "serial"}
    for name, simulator, learner in (
        ("learner", psrs(log), lambda seed: Opaque(seed=seed)),
        ("simulator", Opaque(psrs(log)), make),
    ):
        for _ in range(2):
            experiment(simulator, learner, **options, out=tmp_path / name)
        assert len(load(tmp_path / name)) == 2


@pytest.mark.parametrize("told", [{"class": 3}, {"simulator": 5}, {"code": 7}, {"digest": 1}, {1: 2}])
def test_settings_of_any_names_and_types_make_experiments(told, log, tmp_path):
    class Mine(Bare):
        settings = told

        def start(self, *arguments, **options):
            return psrs(log).start(*arguments, **options)

    options = {"runs": 1, "max_steps": 5, "backend": "serial", "out": tmp_path / "r"}
    for _ in range(2):
        experiment(Mine(n_states=True), lambda seed: Mine(), **options)
    assert len(load(tmp_path / "r")) == 1


@pytest.mark.parametrize("error", [KeyError, RuntimeError])
def test_objects_that_raise_odd_errors_are_refused_with_a_sentence(error, log, make, tmp_path):
    class Odd(Bare):
        def start(self, seed):
            return psrs(log).start(seed)

        def __getattr__(self, name):
            raise error(name)

    told = f"an? Odd, raises {error.__name__} when it is asked for .*; let its __getattr__ raise AttributeError"
    for simulator, learner in ((Odd(), make), (lambda seed: Odd(), make), (psrs(log), lambda seed: Odd())):
        with pytest.raises(ContractError, match=told):
            experiment(simulator, learner, runs=1, max_steps=5, out=tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_what_could_not_be_read_back_is_refused_before_the_folder_is_taken(log, make, tmp_path, monkeypatch):
    monkeypatch.setattr("understudy.runs.plan.logged_reward", lambda log: float("inf"))
    with pytest.raises(ResultsError, match="could not be read back"):
        experiment(psrs(log), make, runs=1, max_steps=5, out=tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_by_default_nothing_is_shown_where_standard_error_is_not_a_terminal(log, make, capfd):
    experiment(psrs(log), make, runs=2, max_steps=10)
    assert capfd.readouterr() == ("", "")


def test_a_bar_asked_for_goes_to_standard_error_and_tells_title_and_count(log, make, capfd):
    experiment(psrs(log), make, runs=3, max_steps=10, progress=True, title="my learner")
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "my learner" in shown.err
    assert "3/3" in shown.err


def test_a_bar_without_a_title_names_the_simulator(log, make, capfd):
    experiment(psrs(log), make, runs=1, max_steps=10, progress=True)
    assert "psrs" in capfd.readouterr().err


def test_a_bar_counts_the_runs_that_were_there_already(log, make, capfd, tmp_path):
    experiment(psrs(log), make, runs=2, max_steps=10, out=tmp_path / "runs")
    experiment(psrs(log), make, runs=2, max_steps=10, out=tmp_path / "runs", progress=True)
    assert "2/2" in capfd.readouterr().err


def all_runs(run_block, blocks):
    return [(block, run_block(block, lambda: True)) for block in blocks]


def swapped(run_block, blocks, workers):
    (one, its_runs), (other, others_runs) = all_runs(run_block, blocks)
    return [(one, others_runs), (other, its_runs)]


class NotYetABackend:
    def __call__(self, run_block, blocks, workers):
        return all_runs(run_block, blocks)


class Iterless:
    def __init__(self, run_block, blocks, workers):
        pass


@pytest.mark.parametrize(
    ("backend", "sentence"),
    [
        (lambda run_block, blocks, workers: None, r"yields \(block, runs\); it returned None"),
        (lambda run_block, blocks, workers: 3, r"yields \(block, runs\); it returned 3"),
        (lambda run_block, blocks, workers: [3], r"yields \(block, runs\); it yielded 3"),
        (lambda run_block, blocks, workers: blocks, r"yields \(block, runs\); it yielded \(0,\)"),
        (lambda run_block, blocks, workers: [(0, None)], r"yields \(block, runs\); it yielded \(0, None\)"),
        (lambda run_block, blocks, workers: [(([],), [])], r"yields \(block, runs\); it yielded"),
        (
            lambda run_block, blocks, workers: [(blocks[0], None)],
            r"yielded None for \(0,\); it must yield a block",
        ),
        (lambda run_block, blocks, workers: [(blocks[0], ["a run"])], r"yielded \['a run'\] for \(0,\)"),
        (lambda run_block, blocks, workers: [(blocks[0], [])], r"yielded 0 runs for \(0,\)"),
        (lambda run_block, blocks, workers: all_runs(run_block, blocks)[:1], r"ended without runs \(1,\)"),
        (lambda run_block, blocks, workers: 2 * all_runs(run_block, blocks), "not given or has yielded before"),
        (swapped, r"yielded a run with seed \d+ as run 0, whose seed is \d+"),
        (lambda run_block, blocks, workers: [(b, run_block(b)) for b in blocks], r"run_block\(block, lambda: True\)"),
        (lambda run_block, blocks, workers: [(b, run_block(b, 3)) for b in blocks], "called with 3 as its second"),
        (lambda run_block: [], "a backend is called with run_block, blocks and workers; the one given does not"),
        (NotYetABackend, "a backend is called with .*; give an object, not the class"),
        (Iterless, "which yields nothing; give an object, not the class"),
    ],
)
def test_a_backend_that_breaks_its_promise_is_refused(log, make, backend, sentence):
    with pytest.raises(ContractError, match=sentence):
        experiment(psrs(log), make, runs=2, max_steps=5, backend=backend)


def test_a_backend_may_be_any_object_that_is_called(log, make, assert_same_runs):
    serial, own = (
        experiment(psrs(log), make, runs=2, max_steps=5, backend=one) for one in ("serial", NotYetABackend())
    )
    assert_same_runs(serial, own)


def test_a_type_error_within_a_backend_stays_what_it_is(log, make):
    def backend(run_block, blocks, workers):
        return len(workers)

    with pytest.raises(TypeError, match="has no len"):
        experiment(psrs(log), make, runs=1, max_steps=5, backend=backend)


def test_functions_that_take_no_seed_are_refused(log, make):
    with pytest.raises(ContractError, match=r"make is called with a seed: lambda seed: \.\.\."):
        experiment(psrs(log), lambda: make(0), runs=1)
    with pytest.raises(ContractError, match=r"the factory of simulators is called with a seed: lambda seed: \.\.\."):
        experiment(lambda: psrs(log), make, runs=1)


def test_a_type_error_within_make_stays_what_it_is(log):
    with pytest.raises(TypeError, match="has no len"):
        experiment(psrs(log), lambda seed: len(seed), runs=1)


def test_the_class_of_a_simulator_in_place_of_an_object_is_refused(make):
    class Mine:
        def start(self, seed):
            raise NotImplementedError

    with pytest.raises(ContractError, match=r"the simulator is the class Mine; give an object, Mine\(\.\.\.\)"):
        experiment(Mine, make, runs=1)


@pytest.mark.parametrize("given", [[len], len])
def test_probes_without_names_are_refused(log, make, given):
    with pytest.raises(SettingError, match=r"probes is a .*; give a mapping of names to probes"):
        experiment(psrs(log), make, runs=1, probes=given)
