import numpy as np
import pytest

import understudy as us
from paper import continuous_grid
from paper.workspace import Workspace
from understudy.runs.validation import validation_episodes

ENV = us.envs.ContinuousGrid()


class Leaning:
    """Heads for the goal, but only in the upper part of a cell."""

    def policies(self, observations):
        upper = (np.asarray(observations)[:, 1] * ENV.size % 1 > 0.75)[:, None]
        return np.where(upper, [0.02, 0.47, 0.47, 0.02, 0.02], [0.6, 0.1, 0.1, 0.1, 0.1])


def test_the_value_of_a_policy_is_what_its_episodes_earn():
    returns, _ = validation_episodes(ENV, Leaning(), 4000, continuous_grid.GAMMA, 1000, seed=1)
    error = returns.std() / np.sqrt(len(returns))
    assert abs(continuous_grid.policy_value(ENV)(Leaning()) - returns.mean()) < 4 * error
    # One point a cell would miss what the policy does within.
    assert abs(continuous_grid.policy_value(ENV, fineness=1)(Leaning()) - returns.mean()) > 4 * error


def test_a_cap_ends_episodes_as_the_published_code_does():
    plain, capped = continuous_grid.record(ENV, 5_000, seed=3), continuous_grid.record(ENV, 5_000, seed=3, cap=50)
    assert plain.n_episodes < capped.n_episodes
    assert not capped.truncated.any()
    lengths, last = np.diff(capped.starts), capped.starts[1:] - 1
    assert lengths.max() == 50
    cut = last[:-1][lengths[:-1] == 50]
    assert capped.terminated[cut].all()
    assert (capped.reward[cut] != -0.1).all()  # the goal's, or lost
    assert (capped.reward[cut] == 0.0).any()


def test_so_do_those_of_the_true_grid():
    run = us.simulate(continuous_grid.real(ENV, cap=5), us.learners.Uniform(5), max_steps=500)
    assert np.diff(run.ends, prepend=0).max() == 5
    assert np.isclose(run.returns, -0.4).mean() > 0.9  # four steps and nothing for the fifth


@pytest.mark.slow
def test_encoders_are_trained_once_for_all_items(quick):
    workspace, _ = quick("encoder")
    again = continuous_grid.prepare(Workspace(workspace.folder.parent / "another item", quick=True))
    assert all(
        again.encoders[name].fitted_on == again.log.fingerprint
        for name in (continuous_grid.HOMER, continuous_grid.FORWARD)
    )
    assert not again.encoders.trained
    anew = continuous_grid.prepare(Workspace(workspace.folder.parent / "elsewhere" / "item", quick=True))
    assert anew.encoders[continuous_grid.FORWARD].settings == again.encoders[continuous_grid.FORWARD].settings
    assert anew.encoders.trained == [continuous_grid.FORWARD]  # and what was not asked for was not


@pytest.mark.slow
def test_the_search_keeps_what_it_tried(tmp_path, monkeypatch):
    monkeypatch.setattr(continuous_grid, "SEARCH", {"latents": (30,), "seeds": (0, 1)})
    ready = continuous_grid.prepare(Workspace(tmp_path / "item", quick=True, search=True))
    assert len(ready.encoders[continuous_grid.HOMER].searched) == 2
