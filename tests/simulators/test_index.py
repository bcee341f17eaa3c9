"""A log packed for replay: states, records, openings and propensities, and encoders that will not do."""

import numpy as np
import pytest

import understudy as us
from understudy.encoders import Boxes, Function, Identity
from understudy.errors import ContractError, EncoderError
from understudy.logs import Log
from understudy.simulators import psrs, qbe
from understudy.simulators.index import grouped, index, with_state_means


class Raw:
    """An encoder that returns what it is told to, unchecked."""

    fitted = True

    def __init__(self, encode):
        self.encode = encode

    def fit(self, log):
        raise AssertionError("it said it was fitted")


def test_records_are_the_columns(random_log, merge):
    log = random_log(0)
    packed = index(log, merge, propensities=True)
    assert np.array_equal(packed.records["row"], np.arange(len(log)))
    for name in ("action", "reward", "terminated"):
        assert np.array_equal(packed.records[name], getattr(log, name))
    assert np.array_equal(packed.records["next_state"], merge.encode(log.next_observation))
    assert np.array_equal(packed.records["next_code"], log.next_observation)
    assert np.array_equal(packed.state, merge.encode(log.observation))
    assert np.array_equal(packed.opening["row"], log.starts[:-1])
    with np.errstate(divide="ignore"):
        assert np.array_equal(packed.inverse_propensity[packed.records["vector"]], 1 / log.propensity)


def test_a_record_is_32_bytes_and_equal_propensities_are_kept_once(walk_log):
    packed = index(walk_log([0] * 50), None)
    assert packed.records.itemsize == 32
    assert packed.inverse_propensity.shape == (1, 2)
    two = np.tile([[0.5, 0.5], [0.25, 0.75]], (25, 1))[:49]
    assert index(walk_log([0] * 50, propensity=two), None, propensities=True).inverse_propensity.shape == (2, 2)


def test_a_propensity_of_minus_zero_is_zero(walk_log, play):
    log = walk_log([0, 9], propensity=[[1.0, -0.0]])
    assert play(psrs(log), lambda t, x: [0.5, 0.5], 0).stop.cause == "unsupported"
    assert play(psrs(log), lambda t, x: [1.0, 0.0], 0).rows == [0]


@pytest.mark.parametrize("scale", [1, 10**6, 10**12])
def test_states_of_a_vast_range_are_renumbered_and_keep_their_names(scale, walk_log, play):
    log = walk_log([0, 1, 2, 9], [2, 1, 9])
    simulator = psrs(log, Function(lambda x: x * scale))
    assert simulator.n_states <= 4 * len(log) + 1024
    rows = play(simulator, lambda t, x: [0.5, 0.5], 0).rows
    assert rows == play(psrs(log), lambda t, x: [0.5, 0.5], 0).rows
    assert simulator.index.encoder_state(simulator.index.state[1]) == scale


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64, np.uint64])
def test_integers_of_any_width_are_their_own_states(dtype, walk_log, play):
    log = walk_log(np.array([0, 1, 200, 9], dtype), np.array([200, 1, 9], dtype))
    assert sorted(play(psrs(log), lambda t, x: [0.5, 0.5], 0).rows) == list(range(5))


@pytest.mark.parametrize("offset", [-5, 2**40])
def test_negative_and_huge_integers_are_numbered(offset, walk_log, play):
    paths = np.array([0, 1, 2, 9]), np.array([2, 1, 9])
    log, moved = walk_log(*paths), walk_log(*(path + offset for path in paths))
    for make in (psrs, qbe):
        one, other = (play(make(which), lambda t, x: [1.0, 0.0], 3) for which in (log, moved))
        assert one.rows == other.rows
        assert [s.next_observation + offset for s in one.steps] == [s.next_observation for s in other.steps]


def test_no_encoder_is_identity(random_columns, play, table):
    columns = random_columns(0)
    for dtype in (np.int64, np.float64):
        log = Log.from_columns(**(columns | {n: columns[n].astype(dtype) for n in ("observation", "next_observation")}))
        assert play(psrs(log), table(1), 1).rows == play(psrs(log, Identity()), table(1), 1).rows


def test_an_encoder_that_is_not_fitted_is_fitted_to_the_log(play):
    rng = np.random.default_rng(0)
    x = rng.random((51, 2))
    log = Log.from_columns(
        observation=x[:-1], next_observation=x[1:], action=np.zeros(50, int), reward=np.zeros(50),
        terminated=np.arange(50) == 49, propensity=np.ones((50, 1)),
    )  # fmt: skip
    assert play(psrs(log, Boxes(bins=2)), lambda t, x: [1.0], 0).rows == list(range(50))


def test_an_observation_that_two_rows_share_is_encoded_once(random_log, monkeypatch):
    log, seen = random_log(0), []
    monkeypatch.setattr("understudy.simulators.index.CHUNK", 7)
    packed = index(log, Raw(lambda x: seen.append(len(x)) or x % 3))
    assert np.array_equal(packed.records["next_state"], log.next_observation % 3)
    assert np.array_equal(packed.state, log.observation % 3)
    apart = log.next_observation[:-1] != log.observation[1:]
    assert seen == [len(log), apart.sum() + 1]


def test_an_encoder_without_fit_is_used_as_it_is(walk_log):
    packed = psrs(walk_log([0, 1, 2]), Raw(lambda x: x + 3)).index
    assert packed.state.tolist() == [3, 4]
    assert packed.records["next_state"].tolist() == [4, 5]


@pytest.mark.parametrize(
    "states",
    [
        lambda x: x.astype(float), lambda x: x[:-1], lambda x: np.column_stack([x, x]), lambda x: x - 2,
        lambda x: ["a"] * len(x), lambda x: 0,
    ],
    ids=["floats", "too few", "pairs", "below -1", "text", "one for all"],
)  # fmt: skip
def test_an_encoder_that_does_not_return_one_state_for_each_is_refused(states, walk_log):
    with pytest.raises(EncoderError, match="encoder"):
        psrs(walk_log([0, 1, 2]), Raw(states))


def test_an_encoder_that_knows_no_observation_of_the_log_is_refused(walk_log):
    with pytest.raises(EncoderError, match="no state for any observation"):
        psrs(walk_log([0, 1, 2]), Function(lambda x: np.full(len(x), -1)))


def test_grouped_lists_each_keys_rows_in_log_order():
    key = np.random.default_rng(0).integers(-1, 7, size=200)
    first, members = grouped(key, 9)
    for k in range(9):
        assert members[first[k] : first[k + 1]].tolist() == np.flatnonzero(key == k).tolist()


def test_the_fingerprint_tells_one_encoders_states_from_anothers(random_log, merge):
    log = random_log(0)
    assert index(log, merge).fingerprint == index(log, merge).fingerprint
    assert index(log, merge).fingerprint != index(log, None).fingerprint


def test_something_else_than_a_log_or_an_encoder_is_refused_with_the_next_move():
    with pytest.raises(ContractError, match=r"us\.read"):
        psrs({"observation": [0]})
    log = Log.from_columns(
        observation=[0, 1], action=[0, 0], reward=[0, 0], terminated=[False, True], propensity=[[1.0]] * 2
    )
    for encoder in (lambda observations: observations, Identity):  # a class is none yet
        with pytest.raises(ContractError, match=r"encoders\.Function"):
            psrs(log, encoder)


@pytest.mark.parametrize("name", ["psrs", "qbe", "states_only", "model"])
def test_a_simulator_on_some_episodes_is_that_of_the_log_of_these(random_log, merge, name):
    log, make = random_log(0), getattr(us, name)
    episodes = np.arange(1, log.n_episodes, 2)
    selected, alone = make(log, merge).select(episodes), make(log.select(episodes), merge)
    assert selected.settings == alone.settings
    for seed in range(3):
        one, other = (
            us.simulate(each, us.learners.Uniform(log.spec.n_actions), seed, 200) for each in (selected, alone)
        )
        assert np.array_equal(one.rows, other.rows)
        assert np.array_equal(one.returns, other.returns)
        assert one.stopped.reason == other.stopped.reason
    assert np.array_equal(selected.index.log.reward, log.select(episodes).reward)


def test_selecting_leaves_the_index_as_it_was(random_log, merge):
    packed = index(random_log(0), merge, propensities=True)
    before = packed.records.copy(), packed.opening.copy()
    packed.select(np.array([0, 2]))
    assert np.array_equal(packed.records, before[0])
    assert np.array_equal(packed.opening, before[1])


def test_mean_propensities_are_those_of_all_rows_of_a_state(walk_log):
    propensity = np.array([[1.0, 0.0], [0.2, 0.8], [0.4, 0.6], [0.0, 1.0]])
    log = walk_log([0, 1, 0, 7], [1, 0], action=[0, 1, 0, 1], propensity=propensity)
    found = with_state_means(index(log, Function(lambda x: np.where(x == 7, -1, x)), propensities=True))
    mean = 1.0 / found.inverse_propensity[found.records["vector"]]
    assert mean == pytest.approx(np.array([[0.7, 0.3], [0.1, 0.9], [0.7, 0.3], [0.1, 0.9]]))
    half = with_state_means(found.select(np.array([0])))  # of its own rows, not of the whole log's
    assert 1.0 / half.inverse_propensity[1] == pytest.approx([0.2, 0.8])


def test_rows_without_a_state_do_not_count_for_a_mean(walk_log):
    log = walk_log([0, 1, 0, 7], action=[0, 0, 1], propensity=np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]]))
    found = with_state_means(index(log, Function(lambda x: np.where(x == 1, -1, x)), propensities=True))
    assert found.inverse_propensity[0] == pytest.approx([2.0, 2.0])
