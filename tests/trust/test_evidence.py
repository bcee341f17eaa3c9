"""Each piece of evidence holds where it should and ends where it is made not to."""

from types import SimpleNamespace

import numpy as np
import pytest

from understudy.evaluation.intervals import ALLOWANCE, HalvedReadings
from understudy.trust.evidence import (
    OF_WHOLE,
    ReadingsAfter,
    agreement,
    cut_evidence,
    interval_evidence,
    less_log_evidence,
    luck_of_parts,
    reading_evidence,
)

STEPS = np.arange(1, 9) * 100


def readings(*, halves=0.0, parts=0.0, going=1.0, half_width=0.1, seed=0):
    """ReadingsAfter that are 0 on the whole log and something else on less of it, with little noise."""
    rng = np.random.default_rng(seed)
    noise = lambda *shape: 0.01 * rng.normal(size=shape)  # noqa: E731
    whole = noise(100, 8)
    of_halves = HalvedReadings(STEPS, whole, halves + noise(20, 20, 8), np.broadcast_to(going, 8))
    of_parts = HalvedReadings(STEPS, whole, parts + noise(20, 20, 8), np.ones(8))
    return ReadingsAfter(of_halves, of_parts, np.broadcast_to(half_width, 8))


def runs_of(curves=None, lengths=None, **fields):
    """Runs as far as evidence reads them."""
    lengths = np.full(len(curves), 800) if lengths is None else np.asarray(lengths)
    fields = {"seed": range(len(lengths))} | fields
    each = [SimpleNamespace(**{name: values[n] for name, values in fields.items()}) for n in range(len(lengths))]

    class Some(list):
        def horizon(self, share):
            return int(np.sort(lengths)[round((1 - share) * len(lengths))])

        def curve(self, probe):
            return STEPS, curves

    return Some(each)


def test_the_interval_ends_where_it_is_wider_than_the_margin():
    widths = np.array([0.1, 0.1, 0.1, 0.6, 0.1, 0.1, 0.1, 0.1])
    assert interval_evidence(readings(half_width=widths), 0.5).steps == 300
    assert interval_evidence(readings(half_width=widths), 0.7).steps == 800
    widths[1] = np.nan
    assert interval_evidence(readings(half_width=widths), 0.7).steps == 100


def test_halves_that_differ_end_the_evidence():
    apart = np.where(np.arange(8) < 5, 0.0, 0.4)
    found = less_log_evidence(readings(halves=apart), 0.3)
    assert found.steps == 500
    assert "halves and whole are +0.4" in found.why
    assert less_log_evidence(readings(halves=apart), 0.5).steps == 800


def test_beyond_halves_four_fifths_of_the_log_count_four_times():
    going = np.where(np.arange(8) < 3, 1.0, 0.2)  # halves end after the third reading
    assert pytest.approx(4) == OF_WHOLE
    same, apart = 0.0, np.where(np.arange(8) < 6, 0.0, 0.1)
    assert less_log_evidence(readings(parts=same, going=going), 0.3).steps == 800
    found = less_log_evidence(readings(parts=apart, going=going), 0.3)  # .1 may be .4 for the whole
    assert found.steps == 600
    assert "80% of the log and the whole" in found.why
    assert less_log_evidence(readings(parts=apart, going=going), 0.5).steps == 800


def test_the_luck_of_a_log_is_seen_in_parts_that_share_most_of_it():
    """A mean over 1,000 episodes of variance 1 has variance .001; without the factor a quarter of it would be found."""
    rng, found = np.random.default_rng(0), []
    for _ in range(40):
        earned = rng.normal(size=1000)
        parts = np.array([rng.permutation(earned)[:800].mean() for _ in range(20)])
        noise = 0.01 * rng.normal(size=(20, 20, 1))
        part = HalvedReadings(STEPS[:1], np.zeros((2, 1)), parts[:, None, None] + noise, np.ones(1))
        found.append(float(luck_of_parts(part)[0]))
    assert np.mean(found) / 1.25 == pytest.approx(0.001, rel=0.2)


@pytest.mark.parametrize("in_log_order", [False, True])
def test_in_log_order_parts_share_more_of_what_they_read(in_log_order):
    """Runs read 400 of 1,000 episodes of variance 1. In log order these are the first ones of each part of the log: the
    whole's mean has variance 1/400. In random order each run reads others, and the mean of many has variance 1/1,000.

    The luck is found to within a tenth, of which three standard errors over 400 logs are half; the factor of the other
    order is off by a fourth or a fifth.
    """
    rng, found = np.random.default_rng(0), {False: [], True: []}
    for _ in range(400):
        earned, parts = rng.normal(size=1000), np.empty((20, 2, 1))
        for part in range(20):
            kept = np.sort(rng.permutation(1000)[:800])
            parts[part] = earned[kept[:400] if in_log_order else kept].mean()
        for assumed, of in found.items():
            readings = HalvedReadings(STEPS[:1], np.zeros((2, 1)), parts, np.ones(1), in_log_order=assumed)
            of.append(float(luck_of_parts(readings)[0]) / ALLOWANCE)
    true = 1 / 400 if in_log_order else 1 / 1000
    assert np.mean(found[in_log_order]) == pytest.approx(true, rel=0.1)
    assert np.mean(found[not in_log_order]) != pytest.approx(true, rel=0.1)


def test_cut_episodes_are_counted_over_all_runs():
    ends, none = np.arange(20, 801, 20), np.empty(0, int)
    few = runs_of(lengths=[800] * 10, ends=[ends] * 10, cuts=[np.array([500])] * 2 + [none] * 8)
    assert cut_evidence(few, 100, 0).steps == 800
    many = runs_of(lengths=[800] * 10, ends=[ends] * 10, cuts=[np.arange(401, 421, 2)] * 10)
    late = np.concatenate([np.arange(1, 701), np.full(300, 701)])  # nothing but cuts after 700 episodes
    diluted = runs_of(lengths=[800] * 10, ends=[np.arange(1, 701)] * 10, cuts=[late[late > 700][:60]] * 10)
    assert cut_evidence(diluted, 100, 0).steps == 700
    found = cut_evidence(many, 100, 0)
    assert found.steps == 400
    assert "of the episodes were cut" in found.why


def test_curves_that_part_end_the_evidence_and_shorter_ones_do_not():
    rng = np.random.default_rng(0)
    ours = 0.01 * rng.normal(size=(40, 8))
    theirs = ours + np.where(np.arange(8) < 4, 0.0, 0.5) + 0.01 * rng.normal(size=(40, 8))
    assert agreement("x", runs_of(ours), runs_of(theirs), "p", 0.3, 0).steps == 400
    assert agreement("x", runs_of(ours), runs_of(theirs), "p", 0.7, 0).steps == 800
    short = agreement("x", runs_of(ours), runs_of(theirs, lengths=[350] * 40), "p", 0.3, 0)
    assert (short.steps, short.limits) == (300, False)
    assert "nothing to compare" in short.why
    silent = agreement("x", runs_of(ours), runs_of(np.full((40, 8), np.nan)), "p", 0.3, 0)
    assert (silent.steps, silent.limits) == (0, False)
    assert agreement("x", runs_of(ours), runs_of(theirs), "p", 0.3, 800).steps == 800  # exact up to there


def test_differences_that_are_not_known_well_enough_do_not_count_as_agreement():
    rng = np.random.default_rng(0)
    noisy = rng.normal(size=(10, 8))
    assert agreement("x", runs_of(np.zeros((10, 8))), runs_of(noisy), "p", 0.3, 0).steps == 0


def test_a_probe_without_readings_is_not_believed():
    values = np.zeros((4, 8))
    values[:, 5:] = np.nan
    found = reading_evidence(values, STEPS, 800, 100)
    assert (found.steps, found.limits) == (500, True)
    assert reading_evidence(np.zeros((4, 8)), STEPS, 800, 100) is None
    assert reading_evidence(np.full((4, 8), np.nan), STEPS, 800, 100).steps == 100


def test_fewer_varied_runs_are_compared_with_the_first_of_the_others():
    ours = np.zeros((40, 8))
    ours[20:] = 5.0  # runs that have no counterpart
    assert agreement("x", runs_of(ours), runs_of(np.zeros((20, 8))), "p", 0.3, 0).steps == 800
    assert agreement("x", runs_of(ours), runs_of(np.zeros((40, 8))), "p", 0.3, 0).steps == 0


def test_runs_are_compared_with_those_of_their_own_seed():
    curves = np.arange(40.0)[:, None] * np.ones(8)  # every run has a curve of its own
    assert agreement("x", runs_of(curves), runs_of(curves), "p", 0.3, 0).steps == 800
    without = np.delete(np.arange(40), 3)  # run 3 failed in one of the two sets
    ours = runs_of(curves[without], seed=without)
    assert agreement("x", ours, runs_of(curves), "p", 0.3, 0).steps == 800
    assert agreement("x", ours, runs_of(curves[:-1]), "p", 0.3, 0).steps == 800
