import numpy as np
import pytest

from understudy.reporting.differences import (
    MOST_BEHIND,
    differences_chart,
    differences_figure,
    differences_of_learners,
)
from understudy.trust import Comparison


@pytest.fixture
def compared(halved_of):
    """Learners whose episodes earn as much as their names say, with an error of their own."""
    from dataclasses import replace

    from understudy.evaluation import Halves

    def comparison(*earned):
        def paid(runs, mean, rng):
            made = [replace(run, returns=mean + 0.1 * rng.normal(size=len(run.returns))) for run in runs]
            return replace(runs, runs=tuple(made))

        found = {}
        for mean in earned:
            rng, runs = np.random.default_rng(int(10 * mean)), halved_of([400] * 8, [400] * 4)
            halves = tuple(paid(half, mean, rng) for half in runs.halves)
            found[f"earns {mean}"] = Halves(replace(paid(runs, mean, rng), halves=halves))
        return Comparison(found)

    return comparison


def test_differences_are_those_of_the_comparison_the_closest_learner_first(compared):
    found = compared(1.0, 3.0, 2.0)
    curves = differences_of_learners(found, found.best)
    assert (found.best, list(curves)) == ("earns 3.0", ["earns 2.0", "earns 1.0"])
    steps, _, low, high = found.difference("earns 3.0", "earns 1.0")
    curve = curves["earns 1.0"]
    np.testing.assert_array_equal(curve.steps, steps)
    np.testing.assert_allclose(curve.low, low)
    np.testing.assert_allclose(curve.high, high)
    assert abs(curve.mean.mean() - 2.0) < 0.1


def test_the_chart_has_the_colors_of_the_learners_and_the_step_that_can_be_believed(compared):
    found = compared(1.0, 3.0, 2.0)
    chart = differences_chart("chart-1", found, found.best, 200, found.learners)
    assert (chart["kind"], chart["unit"]) == ("difference", "step")
    colors = {one["name"]: one["color"] for one in chart["sets"]}
    assert colors == {"than earns 2.0": 3, "than earns 1.0": 1}
    one = chart["sets"][0]
    assert one["trusted"] == 200
    assert one["runs"] == [8] * len(one["x"])
    assert len(one["single"]["values"]) == 8
    runs = found.windows.readings["earns 3.0"].whole - found.windows.readings["earns 2.0"].whole
    np.testing.assert_allclose(one["median"], np.median(runs, axis=0), rtol=1e-3)


def test_of_many_learners_only_those_closest_to_the_choice_are_drawn(compared):
    found = compared(*(float(mean) for mean in range(1, MOST_BEHIND + 4)))
    names = [one["name"] for one in differences_chart("chart-1", found, found.best, None, found.learners)["sets"]]
    assert names == [f"than earns {mean:.1f}" for mean in range(MOST_BEHIND + 2, 2, -1)]


def test_the_still_figure_is_gray_beyond_what_can_be_believed(compared):
    found = compared(1.0, 2.0)

    def grays(upto):
        axes = differences_figure(found, found.best, upto, found.learners).axes[0]
        return [patch.get_x() for patch in axes.patches if patch.get_alpha() == 0.11]

    lines = differences_figure(found, found.best, 150, found.learners).axes[0].lines
    assert [float(line.get_xdata()[0]) for line in lines if line.get_marker() == "D"] == [150]
    assert grays(150) == [150]
    assert grays(None) == []
