import numpy as np
import pytest

import understudy as us
from understudy.cli import large
from understudy.cli.large import part_in_words, part_to_test


@pytest.fixture
def log():
    rng, n = np.random.default_rng(0), 12_000
    return us.Log.from_columns(
        observation=np.arange(n), action=rng.integers(2, size=n), reward=rng.random(n), terminated=np.arange(n) % 3 == 2
    )


def test_a_log_that_is_not_large_is_tested_as_a_whole(log):
    assert part_to_test(log) is log


def test_of_a_large_log_whole_episodes_from_all_over_it_are_tested(log, monkeypatch):
    monkeypatch.setattr(large, "MOST_TESTED", 3600)
    part = part_to_test(log)
    assert len(part) == 3 * part.n_episodes == 3000
    assert (part.observation[::3] % 3 == 0).all()  # where episodes begin
    assert (np.diff(part.observation) > 0).all()
    tenths = np.histogram(part.observation, bins=10, range=(0, len(log)))[0]
    assert (tenths == 300).all()
    assert part.fingerprint == part_to_test(log).fingerprint
    assert part_in_words(part, log) == (
        "states and self-check: tested on 1,000 episodes from all over the log, 3,000 of its 12,000 rows"
    )


def test_few_long_episodes_are_not_sampled(log, monkeypatch):
    monkeypatch.setattr(large, "MOST_TESTED", 300)
    assert part_to_test(log) is log
