"""Random streams: compiled and plain alike, uniform, and apart from each other."""

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from understudy.contracts.streams import (
    ACCEPTANCE,
    LEARNER,
    ORDER,
    Stream,
    below,
    mix,
    spawn,
    stream_key,
    streams_of,
    uniform,
    uniform_at,
)

SEEDS = [0, 1, 2**31, 2**53 - 1, 2**64 - 1, 2**64, 2**100 + 7]


def test_compiled_and_plain_streams_are_the_same_numbers():
    for seed in SEEDS:
        streams = streams_of(seed)
        for purpose in range(5):
            plain = Stream(seed, purpose)
            assert [uniform(streams, purpose) for _ in range(20)] == [plain.uniform() for _ in range(20)]
            assert [below(streams, purpose, 7) for _ in range(20)] == [plain.below(7) for _ in range(20)]


def test_a_number_can_be_had_by_its_position():
    plain, key = Stream(4, LEARNER), np.uint64(stream_key(4, LEARNER))
    numbers = [plain.uniform() for _ in range(10)]
    assert [uniform_at(key, position) for position in range(10)] == numbers
    assert uniform_at(key, 3) == numbers[3]


def test_mixing_is_that_of_splitmix64():
    # the first numbers of Vigna's reference implementation, seeded with 1234567
    gamma, seed = 0x9E3779B97F4A7C15, 1234567
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [int(mix(np.uint64((seed + n * gamma) % 2**64))) for n in (1, 2, 3)] == expected


def test_numbers_are_uniform_and_below_stays_below():
    # Kolmogorov-Smirnov on 50,000 numbers and chi-square on ten bins: false alarm 2e-6; a square is told apart
    stream = Stream(3, ORDER)
    numbers = np.array([stream.uniform() for _ in range(50_000)])
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert kstest(numbers, "uniform").pvalue > 1e-6
    assert kstest(numbers**1.05, "uniform").pvalue < 1e-6
    counts = np.bincount([stream.below(10) for _ in range(50_000)])
    assert len(counts) == 10
    assert chisquare(counts).pvalue > 1e-6


def test_streams_of_one_seed_and_of_neighboring_seeds_are_uncorrelated():
    # correlations of 20,000 numbers within 5.5 standard errors, 28 pairs: false alarm 1e-6
    keys = [(seed, purpose) for seed in (0, 1) for purpose in (ORDER, ACCEPTANCE, LEARNER)]
    keys += [(spawn(0, 1), ORDER), (2**32, ORDER)]
    columns = []
    for seed, purpose in keys:
        stream = Stream(seed, purpose)
        columns.append([stream.uniform() for _ in range(20_000)])
    off = np.corrcoef(columns)[np.triu_indices(len(keys), 1)]
    assert np.abs(off).max() < 5.5 / np.sqrt(20_000)
    shifted = np.corrcoef(columns[0][1:], columns[0][:-1])[0, 1]
    assert abs(shifted) < 5.5 / np.sqrt(20_000)


def test_the_first_numbers_of_many_seeds_are_uniform():
    # Kolmogorov-Smirnov over 20,000 seeds: false alarm 1e-6
    for purpose in (ORDER, ACCEPTANCE):
        assert kstest([Stream(seed, purpose).uniform() for seed in range(20_000)], "uniform").pvalue > 1e-6


def test_keys_and_spawned_seeds_are_distinct_and_fit_json():
    keys = {stream_key(seed, purpose) for seed in range(2000) for purpose in range(5)}
    assert len(keys) == 10_000
    seeds = {spawn(seed, tag) for seed in range(2000) for tag in range(5)}
    assert len(seeds) == 10_000
    assert max(seeds) < 2**53
    assert spawn(1, 2, 3) != spawn(1, 3, 2) != spawn(1, 2)


def test_seeds_of_any_size_have_streams_of_their_own():
    assert len({stream_key(seed, ORDER) for seed in SEEDS}) == len(SEEDS)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint32, np.uint64])
def test_an_integer_of_numpy_is_the_seed_that_it_equals(dtype):
    assert stream_key(dtype(7), ORDER) == stream_key(7, ORDER)
    assert spawn(dtype(7), 1) == spawn(7, 1)
    assert np.array_equal(streams_of(dtype(7)), streams_of(7))
