"""A plan makes the parts of each run once, those of run 0 included, whatever backend, folder or stacking."""

import pickle

import cloudpickle
import numpy as np
import pytest

from understudy.envs import Grid
from understudy.errors import ContractError
from understudy.learners import PPO, QLearning
from understudy.logs import Log
from understudy.runs import experiment
from understudy.runs.plan import Plan, count_of, noting_run, with_class
from understudy.runs.stacked import BLOCK
from understudy.simulators import pers, psrs, real

ENV = Grid(3)
LOG = Log.from_columns(**ENV.rollout(np.full((9, 5), 0.2), 60, seed=0))


class Counting:
    """A function seed -> part that counts, in a file, in which process it is called with which seed."""

    def __init__(self, path, make):
        self.path, self.make = path, make

    @property
    def settings(self):
        return {"name": self.path.name}

    def __call__(self, seed):
        import os

        with self.path.open("a") as file:
            file.write(f"{os.getpid()} {seed}\n")
        return self.make(seed)

    def calls(self):
        lines = self.path.read_text().split("\n")[:-1] if self.path.exists() else []
        self.path.unlink(missing_ok=True)
        return [tuple(map(int, line.split())) for line in lines]

    def seeds(self):
        return sorted(seed for _, seed in self.calls())


@pytest.fixture
def factory(tmp_path):
    return Counting(tmp_path / "simulators", lambda seed: psrs(LOG))


@pytest.fixture
def make(tmp_path):
    return Counting(tmp_path / "learners", lambda seed: QLearning(9, 5, seed=seed))


@pytest.fixture
def make_stacked(tmp_path):
    return Counting(tmp_path / "learners", lambda seed: PPO(LOG.spec, hidden=(4,), epoch_steps=16, seed=seed))


@pytest.mark.parametrize("backend", ["serial", "threads"])
@pytest.mark.parametrize("with_out", [False, True])
def test_every_part_is_made_once(backend, with_out, factory, make, tmp_path):
    options = {"out": tmp_path / "out"} if with_out else {}
    runs = experiment(factory, make, runs=4, max_steps=20, backend=backend, **options)
    seeds = sorted(run.seed for run in runs)
    assert factory.seeds() == seeds
    assert make.seeds() == seeds


@pytest.mark.parametrize("backend", ["serial", "threads"])
def test_an_experiment_that_goes_on_makes_run_0_to_compare_it_and_of_the_others_what_is_missing(
    backend, factory, make, tmp_path
):
    options = {"max_steps": 20, "out": tmp_path / "out", "backend": backend}
    experiment(factory, make, runs=2, **options)
    factory.calls(), make.calls()
    runs = experiment(factory, make, runs=4, **options)
    needed = sorted(runs[number].seed for number in (0, 2, 3))
    assert factory.seeds() == needed
    assert make.seeds() == needed


def test_in_processes_the_parent_makes_run_0_once_and_the_workers_each_run(factory, make):
    import os

    runs = experiment(factory, make, runs=3, max_steps=20, backend="processes", workers=2)
    for counting in (factory, make):
        calls = counting.calls()
        assert [seed for process, seed in calls if process == os.getpid()] == [runs[0].seed]
        assert sorted(seed for process, seed in calls if process != os.getpid()) == sorted(run.seed for run in runs)


@pytest.mark.parametrize("with_out", [False, True])
def test_stacked_learners_are_made_once(with_out, factory, make_stacked, tmp_path):
    options = {"out": tmp_path / "out"} if with_out else {}
    runs = experiment(factory, make_stacked, runs=3, max_steps=20, backend="serial", **options)
    seeds = sorted(run.seed for run in runs)
    assert factory.seeds() == seeds
    assert make_stacked.seeds() == seeds


def test_a_simulator_is_not_made_again(make):
    runs = experiment(psrs(LOG), make, runs=3, max_steps=20, backend="serial")
    assert make.seeds() == sorted(run.seed for run in runs)


def test_a_factory_of_real_environments_is_asked_again_with_the_seed_of_a_real_run(tmp_path, make):
    factory = Counting(tmp_path / "simulators", lambda seed: real(ENV))
    runs = experiment(factory, make, runs=2, max_steps=20, backend="serial")
    assert len(factory.seeds()) == 3  # only the first simulator can say that runs are real, which changes their seeds
    assert make.seeds() == sorted(run.seed for run in runs)


def plan(**changes):
    settings = {"simulator": psrs(LOG), "make": lambda seed: QLearning(9, 5, seed=seed), "seed": 0, "max_steps": 20}
    return Plan(**(settings | {"probes": {}, "every": 10, "compiled": None} | changes))


def test_the_parts_of_run_0_are_handed_out_once():
    one = plan()
    first = one.first
    assert one.parts(0) is first
    assert one.parts(0) is not first
    assert one.parts(0).seed == first.seed == one.seed_of(0)


def test_a_plan_that_is_sent_leaves_the_parts_of_run_0_behind():
    one = plan()
    seed = one.first.seed
    sent = pickle.loads(cloudpickle.dumps(one))
    assert "first" not in vars(sent)
    assert sent.parts(0).seed == seed


def test_blocks_are_single_runs_unless_learners_can_be_stacked(make_stacked):
    assert plan().blocks([0, 3, 4]) == [(0,), (3,), (4,)]
    assert plan(make=make_stacked).blocks([0, 3, BLOCK]) == [(0, 3, BLOCK)]
    assert plan(make=make_stacked).blocks(range(BLOCK + 1)) == [(0, 1, 2, 3, 4, 5), (6, 7, 8, 9, 10)]
    assert plan(make=make_stacked, compiled=False).blocks([0, 3]) == [(0,), (3,)]
    assert plan(simulator=pers(LOG, bound=10.0), make=make_stacked).blocks([0, 3]) == [
        (0,),
        (3,),
    ]  # they step back one by one


def test_blocks_are_as_large_as_learners_say(make_stacked):
    def make_threes(seed, device="cpu"):
        learner = make_stacked(seed)
        learner.stack_size, learner.device = 3, device
        return learner

    assert plan(make=make_threes).blocks([0, 2, 3, 7]) == [(0, 2), (3, 7)]
    assert plan(make=make_threes).blocks([0, 2, 3, 7], 4) == [(0,), (2,), (3,), (7,)]
    on_gpu = plan(make=lambda seed: make_threes(seed, "cuda"))
    assert on_gpu.blocks([0, 2, 3, 7], 4) == [(0, 2), (3,), (7,)]  # rounding there depends on the stack


def test_stacked_runs_do_not_depend_on_how_many_are_stacked(make_stacked):
    """Workers decide how many are stacked: five, three or one."""
    options = {"runs": 5, "max_steps": 50, "every": 16, "probes": {"value": lambda learner: learner.value(0)}}
    alone, *others = (experiment(psrs(LOG), make_stacked, backend="serial", workers=n, **options) for n in (5, 2, 1))
    for other in others:
        for one, two in zip(alone, other, strict=True):
            assert np.array_equal(one.rows, two.rows)
            assert np.array_equal(one.curves["value"], two.curves["value"])


def test_the_fastest_backend():
    assert plan().fastest_backend(1, 9) == plan().fastest_backend(4, 1) == "serial"
    assert plan().fastest_backend(4, 9) == "threads"
    assert plan(compiled=False).fastest_backend(4, 9) == "processes"


def test_errors_name_their_run():
    with pytest.raises(KeyError) as caught, noting_run(3, 7):
        raise KeyError("x")
    assert caught.value.__notes__ == ["in run 3 (seed 7)"]


def test_what_is_shown_of_an_object_has_its_class():
    assert with_class("text", 3) == {"class": "int", "digest": "text"}
    assert with_class({"a": 1}, 3) == {"a": 1, "class": "int"}
    assert with_class({"class": "Mine"}, 3) == {"class": "Mine"}


@pytest.mark.parametrize(
    ("number", "count"),
    [(3, 3), (np.int64(3), 3), (True, None), (-1, None), (2**63, None), (0.5, None), ("3", None)],
)
def test_a_count_is_a_whole_number_that_files_can_hold(number, count):
    assert count_of(number) == count


# Backends of others


class Backend:
    """Makes runs one after another, changes what it yields, and says whether it was closed."""

    def __init__(self, change=lambda results: results):
        self.change, self.closed, self.blocks = change, False, []

    def __call__(self, run_block, blocks, workers):
        self.blocks = list(blocks)
        try:
            yield from self.change([(block, run_block(block, lambda: True)) for block in blocks])
        finally:
            self.closed = True


def test_a_backend_of_ones_own_gives_the_same_runs(assert_same_runs):
    backend = Backend(lambda results: results[::-1])
    make = plan().make
    runs = experiment(psrs(LOG), make, runs=4, max_steps=50, backend=backend)
    assert_same_runs(runs, experiment(psrs(LOG), make, runs=4, max_steps=50, backend="serial"))
    assert backend.blocks == [(0,), (1,), (2,), (3,)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda results: results[1:], r"ended without runs \(0,\)"),
        (lambda results: [*results, results[0]], r"yielded runs \(0,\), which it was not given or has yielded before"),
        (lambda results: [((9,), results[0][1]), *results], r"yielded runs \(9,\), which it was not given"),
        (lambda results: [(results[0][0], []), *results[1:]], r"yielded 0 runs for \(0,\); it must yield a block with"),
    ],
)
def test_a_backend_that_drops_repeats_or_invents_a_block_is_refused(change, message):
    backend = Backend(change)
    with pytest.raises(ContractError, match=message):
        experiment(psrs(LOG), plan().make, runs=3, max_steps=20, backend=backend)
    assert backend.closed


def test_a_backend_is_closed_where_a_run_raises():
    def make(seed):
        if made:
            raise KeyError("no learner for this one")
        made.append(seed)
        return QLearning(9, 5, seed=seed)

    made, backend = [], Backend()
    with pytest.raises(KeyError) as caught:
        experiment(psrs(LOG), make, runs=3, max_steps=20, backend=backend)
    assert any(note.startswith("in run 1 ") for note in caught.value.__notes__)
    assert backend.closed


class Listed:
    """A learner whose stack key cannot be hashed."""

    stack_key = ["hidden", 4]  # noqa: RUF012 (it is the mistake)

    def policy(self, observation):
        raise NotImplementedError

    def learn(self, step):
        raise NotImplementedError


def test_a_stack_key_that_is_not_hashable_is_refused():
    with pytest.raises(
        ContractError, match=r"stack_key of Listed is \['hidden', 4\]; it must be hashable, and a tuple"
    ):
        plan(make=lambda seed: Listed())((0, 1), lambda: True)
