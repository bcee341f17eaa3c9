"""Arrays of simulators cannot be written on, and kernels have one type for them wherever they are kept."""

import mmap
import pickle

import cloudpickle
import numpy as np
import pytest
from numba import typeof

import understudy as us
from understudy.runs.compiled import advance
from understudy.simulators.read_only import read_only
from understudy.simulators.rehearsal import begin_episode, serve_step

OF_THE_REHEARSAL = {
    "queues", "queued", "order", "opening_order", "filled", "streams", "cursor", "reserves", "reserved", "lacking",
    "excess", "place", "cut_at", "weights",
}  # fmt: skip
STEPS = 100


@pytest.fixture(scope="module")
def simulators(trajectories):
    """Every kind of source, what `select` and `repeated` make included."""
    made = trajectories.simulators()
    log = us.record(us.envs.WeatherGrid(3, slip=0.2, effect=0.5), episodes=200, seed=0)
    made["a path of weather"] = us.exo_psrs(log, us.exogenous_split(log))
    episodes = np.arange(0, made["psrs"].log.n_episodes, 2)
    return made | {
        "half of psrs": made["psrs"].select(episodes),
        "copies of psrs": made["psrs"].repeated(3),
        "copies by rows": made["psrs by rows, restarted"].repeated(2),
        "half of a ladder": made["qbe with a ladder"].select(episodes),
    }


def arrays_of(source):
    """The name of each array of a source, those of the sources below it included, and the array."""
    for name, part in source._asdict().items():
        if isinstance(part, tuple):
            yield from arrays_of(part)
        else:
            yield name, part


def sent(thing, keep):
    """The thing as it arrives from an object store: its arrays are views of buffers that cannot be written on."""
    buffers = []
    pickled = cloudpickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(pickled, buffers=keep([buffer.raw() for buffer in buffers]))


def in_memory(buffers):
    return [bytes(buffer) for buffer in buffers]


@pytest.fixture
def in_a_file(tmp_path):
    """Write buffers into one file, and return where they are in a memory map of it."""

    def keep(buffers):
        begins = np.cumsum([0] + [-(-max(1, len(buffer)) // 64) * 64 for buffer in buffers])
        with open(tmp_path / "buffers", "w+b") as file:
            for begin, buffer in zip(begins, buffers, strict=False):
                file.seek(begin)
                file.write(buffer)
            file.truncate(begins[-1])
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return [mapped[begin : begin + len(buffer)] for begin, buffer in zip(begins, buffers, strict=False)]

    return keep


def runs_of(simulator, learner):
    """A run by the compiled loop, and one step taken from Python; None where its row was passed over."""
    run = us.simulate(simulator, learner, 1, STEPS, compiled=True)
    rehearsal = simulator.start(1)
    rehearsal.begin()
    return run, rehearsal.step(np.full(simulator.n_actions, 1 / simulator.n_actions))


def learner_of(simulator):
    if simulator.log is None or simulator.log.spec.n_observations is not None:
        return us.learners.QLearning(1000, simulator.n_actions, epsilon=0.5, seed=0)
    return us.learners.Uniform(simulator.n_actions)


def signatures():
    return {kernel.py_func.__name__: list(kernel.signatures) for kernel in (advance, begin_episode, serve_step)}


def test_every_array_of_a_simulator_is_read_only_and_every_one_of_a_rehearsal_is_not(simulators):
    kinds = set()
    for what, simulator in simulators.items():
        source = simulator.start(0).source
        kinds.add(type(source).__name__)
        for name, array in arrays_of(source):
            assert type(array) is np.ndarray, (what, name)
            assert array.flags.writeable == (name in OF_THE_REHEARSAL), (what, name)
    assert kinds == {
        "Tape", "ReserveTape", "Model", "TwoTapes", "Ladder", "TapeAndPath", "TableWalk", "EpisodeTape"
    }  # fmt: skip


def test_arrays_coded_for_a_learner_are_read_only(simulators):
    env = us.envs.NoisyGrid(1, size=3, slip=0.2)
    cells = us.encoders.Function(env.latent)
    codes = us.learners.QLearning(9, 5, encoder=cells, seed=0).codes
    source = simulators["psrs"].start(0, codes).source
    assert not source.records.flags.writeable
    assert not source.opening.flags.writeable
    assert not np.shares_memory(source.records, simulators["psrs"].index.records)


@pytest.mark.parametrize("place", ["an object store", "a memory map"])
def test_nothing_is_compiled_anew_for_arrays_of(place, simulators, in_a_file):
    keep = in_memory if place == "an object store" else in_a_file
    for what, simulator in simulators.items():
        run, step = runs_of(simulator, learner_of(simulator))
        before = signatures()
        arrived = sent(simulator, keep)
        again, same_step = runs_of(arrived, learner_of(arrived))
        assert signatures() == before, what
        np.testing.assert_array_equal(again.rows, run.rows)
        assert again.stopped == run.stopped
        assert repr(same_step) == repr(step)


def test_an_array_that_can_be_written_on_has_a_type_of_its_own(simulators):
    """The test above would notice one: kernels are compiled by type."""
    source = simulators["psrs"].start(0).source
    assert typeof(sent(simulators["psrs"], in_memory).start(0).source) == typeof(source)
    assert typeof(source._replace(records=source.records.copy())) != typeof(source)


def test_a_memory_map_becomes_a_plain_array_of_the_same_memory(tmp_path):
    np.save(tmp_path / "array.npy", np.arange(5))
    mapped = np.load(tmp_path / "array.npy", mmap_mode="r")
    plain = read_only(mapped)
    assert type(plain) is np.ndarray
    assert np.shares_memory(plain, mapped)
    assert read_only(plain) is plain


def test_the_array_itself_stays_as_it_was():
    array = np.zeros(3)
    view = read_only(array)
    array[0] = 1.0
    assert view[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 2.0
