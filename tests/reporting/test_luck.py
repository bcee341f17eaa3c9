import numpy as np
import pytest

from understudy.evaluation import Halves
from understudy.evaluation.curves import mean_curve
from understudy.reporting.luck import (
    NOT_REACHED,
    NOT_RUN,
    LuckOfSet,
    halves_of,
    horizons_of,
    luck_of_set,
    shares_a_log,
    use_no_states,
    with_luck,
)


def test_what_is_found_is_what_halves_say(halved_of):
    runs = halved_of([100] * 8, [60] * 4)
    found = luck_of_set(runs, margin=0.3)
    expected = Halves(runs)
    np.testing.assert_array_equal(found.intervals["g"].low, expected.interval("g").low)
    assert found.trusted["g"] == expected.trust("g", 0.3)
    assert (found.probe, found.horizon) == ("g", 60)
    assert horizons_of({"a": found, "b": "why"}, "g") == {"a": 60}
    assert horizons_of({"a": found, "b": "why"}) == {"a": 60}


@pytest.mark.parametrize("name", ["states_only", "actions_only", "any_row"])
def test_baselines_have_intervals_and_no_horizon(halved_of, name):
    found = luck_of_set(halved_of([100] * 8, [60] * 4, simulator={"simulator": name}))
    assert isinstance(found, LuckOfSet)
    assert found.intervals
    assert found.horizon is None


def test_replay_uses_no_states(halved_of):
    sets = [halved_of([100] * 8, [60] * 4, simulator={"simulator": name}) for name in ("replay", "any_row", "psrs")]
    assert use_no_states(sets[:2])
    assert not use_no_states(sets)
    assert not use_no_states([])


def test_without_usable_halves_there_is_a_reason(runs_of, halved_of):
    assert luck_of_set(runs_of([40] * 3)) == NOT_RUN
    assert luck_of_set(runs_of([40] * 3, log_episodes=1)) == "the log has 1 episode, and halves of it need at least 8"
    uneven = halved_of([100] * 8, [60] * 4)
    begun = type(uneven)(uneven.runs, uneven.about, (uneven.halves[0][:2], *uneven.halves[1:]))
    assert luck_of_set(begun).startswith("1 of 10 halves of the log are unfinished; call understudy simulate again")
    assert luck_of_set(halved_of([100] * 8, [5] * 4)) == NOT_REACHED
    assert "not all runs reached the first reading" in luck_of_set(halved_of([5] + [100] * 8, [60] * 4))
    assert luck_of_set(halved_of([100] * 8, [60] * 4, probe=None)) == NOT_REACHED
    assert luck_of_set(halved_of([0] * 8, [0] * 4)) == NOT_REACHED
    assert luck_of_set(halved_of([100], [60] * 4)).startswith("one run tells nothing of the spread of runs")


def test_runs_on_logs_of_their_own_and_real_ones_share_no_log(runs_of, real_of):
    assert shares_a_log(runs_of([40] * 2))
    assert not shares_a_log(runs_of([40] * 2, own_logs=True))
    assert not shares_a_log(real_of([40] * 2))
    assert not shares_a_log(runs_of([]))


def test_a_band_with_luck_is_that_of_the_interval_and_wider(halved_of):
    runs = halved_of([100] * 8, [60] * 4, luck=0.5)
    naive = mean_curve(runs, "g")
    wide = with_luck(naive, runs, "g", 1.0)
    interval = Halves(runs).interval("g")
    np.testing.assert_allclose(wide.low, interval.low)
    np.testing.assert_allclose(wide.high, interval.high)
    assert (wide.half_width > 2 * naive.half_width).all()
    assert (wide.reach, naive.reach) == (60, None)


def test_a_band_stays_as_it_is_where_halves_say_nothing(runs_of, halved_of):
    for runs in (runs_of([40] * 3), halved_of([100] * 8, [5] * 4)):
        curve = mean_curve(runs, "g")
        assert with_luck(curve, runs, "g", 1.0) is curve
    late = halved_of([5] * 8 + [100], [60] * 4)  # too few runs reached a reading
    curve = mean_curve(late, "g")
    assert with_luck(curve, late, "g", 0.9) is curve


def test_where_runs_are_missing_the_band_is_wider_by_what_they_could_change(halved_of):
    runs = halved_of([100] * 9 + [50], [60] * 4)
    curve, wide = (mean_curve(runs, "g", 0.9), with_luck(mean_curve(runs, "g", 0.9), runs, "g", 0.9))
    np.testing.assert_array_equal(curve.below, wide.below)
    assert np.isfinite(wide.low[-1])
    assert isinstance(halves_of(runs), Halves)
