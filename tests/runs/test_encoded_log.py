import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from understudy.contracts import encoding
from understudy.contracts.encoding import log_states, states_of
from understudy.errors import ContractError, EncoderError, SettingError
from understudy.runs import encoded_log
from understudy.runs.encoded_log import EncodedLog, digest_of, encode
from understudy.simulators.index import index


def grid_log(episodes=30, seed=0):
    return us.record(us.envs.ContinuousGrid(), episodes=episodes, seed=seed)


def halves(observations):
    return (observations > 0.5) @ np.array([1, 2])


class Counting:
    """An encoder that counts the batches it encodes, and stops at one of them."""

    fitted = True
    settings = {"encoder": "Counting"}  # noqa: RUF012

    def __init__(self, stop_at=None):
        self.batches, self.stop_at = 0, stop_at

    def encode(self, observations):
        self.batches += 1
        if self.batches == self.stop_at:
            raise KeyboardInterrupt
        return halves(observations)


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch):
    monkeypatch.setattr(encoding, "BLOCK_ROWS", 64)


def whole_states(encoder, log):
    return states_of(encoder, log.observation), states_of(encoder, log.next_observation)


ENCODERS = {
    "Boxes": lambda: us.encoders.Boxes(bins=4),
    "KMeans": lambda: us.encoders.KMeans(7),
    "Identity": lambda: us.encoders.Identity(),
    "Function": lambda: us.encoders.Function(halves),
}


@pytest.mark.parametrize("block_rows", [7, 10**9])
@pytest.mark.parametrize("name", ENCODERS)
def test_blocks_change_no_state(monkeypatch, name, block_rows):
    log = grid_log(4)
    encoder = ENCODERS[name]().fit(log)
    expected = whole_states(encoder, log)
    monkeypatch.setattr(encoding, "BLOCK_ROWS", block_rows)
    for found in (log_states(encoder, log), encode(log, encoder).log_states(log)):
        assert np.array_equal(found, expected)
        assert found[0].dtype == np.int32


@pytest.mark.parametrize("kind", [pytest.param("Forward", marks=pytest.mark.slow), "Homer"])
def test_networks_give_the_same_states_in_blocks(tmp_path, kind):
    pytest.importorskip("torch")
    log = grid_log(10)
    options = {"steps": 50} if kind == "Forward" else {"latent": 6, "max_epochs": 2}
    encoder = getattr(us.encoders, kind)(**options).fit(log)
    encoded = encode(log, encoder, out=tmp_path / "states")
    assert np.array_equal(encoded.log_states(log), log_states(encoder, log))
    same = np.mean([np.mean(one == other) for one, other in zip(encoded.log_states(log), whole_states(encoder, log),
                                                                strict=True)])  # fmt: skip
    assert same > 0.999  # batches of another size may round another way


@pytest.mark.parametrize("name", ["Boxes", "Identity"])
def test_a_simulator_of_stored_states_is_that_of_the_encoder(tmp_path, name):
    log = grid_log()
    encoder = ENCODERS[name]().fit(log)
    encoded = encode(log, encoder, out=tmp_path / "states")
    direct, stored = index(log, encoder, propensities=True), index(log, encoded, propensities=True)
    assert direct.fingerprint == stored.fingerprint
    assert np.array_equal(direct.records, stored.records)
    assert np.array_equal(direct.opening, stored.opening)
    assert direct.n_states == stored.n_states
    make = us.learners.Uniform(5)
    runs = [us.simulate(us.psrs(log, one), make, seed=3, max_steps=500) for one in (encoder, encoded)]
    assert np.array_equal(runs[0].rows, runs[1].rows)
    assert len(runs[0]) > 10 or name == "Identity"
    assert encoded.n_states == encoder.n_states
    assert np.array_equal(encoded.encode(log.observation[:9]), encoder.encode(log.observation[:9]))


@pytest.mark.parametrize("backend", ["serial", "threads", pytest.param("processes", marks=pytest.mark.slow)])
def test_states_are_the_same_wherever_blocks_are_encoded(tmp_path, backend):
    log = grid_log(12)
    encoder = us.encoders.KMeans(5).fit(log)
    found = encode(log, encoder, out=tmp_path / "states", workers=2, backend=backend)
    assert np.array_equal(found.log_states(log), log_states(encoder, log))
    assert not found.state.flags.writeable
    again = encode(log, encoder, out=tmp_path / "states")
    assert np.array_equal(again.state, found.state)


def test_a_backend_of_your_own_may_finish_blocks_in_any_order(tmp_path):
    log = grid_log(12)

    def backwards(run_block, blocks, workers):
        for block in reversed(blocks):
            yield block, run_block(block, lambda: True)

    encoder = us.encoders.Function(halves)
    found = encode(log, encoder, out=tmp_path / "states", backend=backwards)
    assert np.array_equal(found.log_states(log), log_states(encoder, log))
    with pytest.raises(ContractError, match="ended without block 0"):
        encode(log, encoder, backend=lambda run_block, blocks, workers: iter(()))
    with pytest.raises(ContractError, match="yielded before"):
        encode(log, encoder, backend=lambda run_block, blocks, workers: [(blocks[0], run_block(blocks[0], 0))] * 2)
    with pytest.raises(SettingError, match="backend='nowhere'"):
        encode(log, encoder, backend="nowhere")


def test_whoever_is_interrupted_is_followed_at_the_block_it_had_reached(tmp_path):
    log = grid_log(12)
    n_batches = Counting()
    encode(log, n_batches)
    first = Counting(stop_at=n_batches.batches // 2)
    with pytest.raises(KeyboardInterrupt):
        encode(log, first, out=tmp_path / "states")
    second = Counting()
    found = encode(log, second, out=tmp_path / "states")
    assert first.batches + second.batches <= n_batches.batches + 3  # the block that was under way is encoded again
    assert np.array_equal(found.log_states(log), log_states(Counting(), log))
    third = Counting()
    encode(log, third, out=tmp_path / "states")
    assert third.batches == 0


KILLED = """
    import os, signal, sys
    from tests.runs.test_encoded_log import Counting, grid_log
    from understudy.contracts import encoding
    from understudy.runs import encoded_log

    class Killed(Counting):
        def encode(self, observations):
            if self.batches == 8:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().encode(observations)

    encoding.BLOCK_ROWS, encoded_log.digest_of = 64, lambda encoder: "the same"
    encoded_log.encode(grid_log(12), Killed(), out=sys.argv[1])
"""


def test_a_killed_process_leaves_what_the_next_one_can_use(tmp_path, monkeypatch):
    folder = tmp_path / "states"
    monkeypatch.setattr(encoded_log, "digest_of", lambda encoder: "the same")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(KILLED), str(folder)], env=environment, check=False)
    assert ended.returncode == -signal.SIGKILL
    log, encoder, all_batches = grid_log(12), Counting(), Counting()
    expected = encode(log, all_batches).log_states(log)
    assert np.array_equal(encode(log, encoder, out=folder).log_states(log), expected)
    assert 0 < encoder.batches <= all_batches.batches - 6


def test_states_of_another_log_or_encoder_are_refused(tmp_path):
    log, folder = grid_log(), tmp_path / "states"
    encoded = encode(log, us.encoders.Boxes(bins=3), out=folder)
    with pytest.raises(EncoderError, match="states of another encoder"):
        encode(log, us.encoders.Boxes(bins=4), out=folder)
    other = replace(log, reward=log.reward + 1)
    with pytest.raises(EncoderError, match="states of another log"):
        encode(other, us.encoders.Boxes(bins=3), out=folder)
    with pytest.raises(EncoderError, match="states of another log"):
        us.psrs(other, encoded)
    assert isinstance(encode(log, us.encoders.Boxes(bins=3), out=folder), EncodedLog)


def test_encoders_are_told_apart_by_what_they_are():
    log = grid_log(5)
    digests = [
        digest_of(encoder)
        for encoder in (
            us.encoders.Boxes(bins=3).fit(log), us.encoders.Boxes(bins=4).fit(log), us.encoders.KMeans(3).fit(log),
            us.encoders.KMeans(3, seed=1).fit(log), us.encoders.Function(halves), us.encoders.Function(np.ravel),
        )
    ]  # fmt: skip
    assert len(set(digests)) == len(digests)
    assert digest_of(us.encoders.KMeans(3).fit(log)) == digests[2]

    class Locked:
        fitted = True

        def __init__(self):
            import threading

            self.lock = threading.Lock()

        def encode(self, observations):
            return halves(observations)

    with pytest.raises(EncoderError, match="cannot be described"):
        digest_of(Locked())


def test_wide_states_are_kept_whole(tmp_path):
    log = grid_log(12)
    calls = []

    def wide(observations):
        calls.append(len(observations))
        return halves(observations) + (2**40 if len(calls) > 4 else 0)

    encoder = us.encoders.Function(lambda observations: halves(observations) * 2**40)
    for found in (encode(log, encoder, out=tmp_path / "states"), encode(log, encoder)):
        assert found.state.dtype == np.int64
        assert np.array_equal(found.log_states(log), whole_states(encoder, log))
    assert us.qbe(log, found).n_states == 4
    state = log_states(us.encoders.Function(wide), log)[0]
    assert state.dtype == np.int64
    assert state.min() < 4 < 2**40 <= state.max()


def test_the_encoder_is_fitted_on_the_log_and_the_log_has_no_errors(tmp_path):
    log = grid_log()
    encoded = encode(log, us.encoders.KMeans(4), out=tmp_path / "states")
    assert encoded.encoder.fitted
    assert repr(encoded) == f"EncodedLog of {len(log):,} rows, by KMeans(4, seed=0)"
    with pytest.raises(us.LogError, match="reward is NaN"):
        encode(replace(log, reward=log.reward * np.nan), us.encoders.KMeans(4))
    with pytest.raises(ContractError, match="not an encoder"):
        encode(log, halves)
