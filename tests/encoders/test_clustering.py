"""Groups, borders and merges among embeddings that are made by hand."""

import numpy as np
import pytest
import torch

from understudy.encoders import clustering


def embeddings(*laws, actions=1):
    """Laws of outcomes as embeddings, the same for every action."""
    return torch.tensor(laws, dtype=torch.float32).sqrt()[:, None].expand(-1, actions, -1).contiguous()


def around(law, n, spread, seed=0):
    """Embeddings near a law."""
    shift = torch.rand(n, len(law), generator=torch.Generator().manual_seed(seed))
    near = torch.tensor(law) + spread * shift
    return (near / near.sum(dim=1, keepdim=True)).sqrt()[:, None]


def test_the_distance_is_that_of_the_action_under_which_two_differ_most():
    one, other = embeddings([1.0, 0.0], actions=2), embeddings([1.0, 0.0], actions=2)
    other[0, 1] = torch.tensor([0.0, 1.0])
    assert float(clustering.distances(one, one)) == pytest.approx(0, abs=1e-6)
    assert float(clustering.distances(one, other)) == pytest.approx(1)


def test_dense_groups_are_found_largest_first_and_stragglers_are_left():
    cloud = torch.cat([around([1.0, 0, 0], 30, 0.01), around([0, 1.0, 0], 50, 0.01), embeddings([0, 0, 1.0])])
    groups = clustering.dense_groups(clustering.distances(cloud, cloud), radius=0.02, fewest=10)
    assert [sorted(group.tolist()) for group in groups] == [list(range(30, 80)), list(range(30))]


def test_a_rare_group_is_found_once_enough_of_it_was_seen():
    rare, common = around([0.0, 1.0], 4, 0.01), around([1.0, 0.0], 40, 0.01)
    rounds = iter([torch.cat([common, rare])] * 5 + [common[:0]] * 20)
    centers = clustering.dense_centers(lambda: next(rounds), radius=0.02)
    assert len(centers) == 2
    assert not clustering.far_from_all(torch.cat([rare, common]), centers, 0.02).any()


def test_without_groups_there_are_no_centers():
    apart = torch.eye(8)[:, None]
    rounds = iter([apart, apart[:0]])
    assert len(clustering.dense_centers(lambda: next(rounds), radius=0.02)) == 0


def test_what_lies_between_states_is_a_mixture_and_a_state_of_its_own_is_not():
    corners = embeddings([1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0])
    assert clustering.is_mixture(embeddings([0.5, 0.3, 0.2, 0.0])[0], corners)
    assert not clustering.is_mixture(embeddings([0.3, 0.2, 0.0, 0.5])[0], corners)
    assert not clustering.is_mixture(corners[0], corners[:0])


def test_only_what_is_smaller_can_be_a_mixture_of_others():
    centers = embeddings([1.0, 0.0], [0.0, 1.0], [0.5, 0.5])
    assert clustering.are_mixtures(centers, np.array([0.45, 0.45, 0.1])).tolist() == [False, False, True]
    assert clustering.are_mixtures(centers, np.array([0.05, 0.05, 0.9])).tolist() == [False, False, False]


def test_the_bank_has_a_place_for_rare_outcomes():
    outcomes = torch.cat([torch.randn(2000, 4, generator=torch.Generator().manual_seed(0)) * 0.01, torch.ones(2, 4)])
    bank = clustering.outcome_bank(outcomes, 4, 64, np.random.default_rng(0))
    assert (bank.outcomes > 0.5).all(dim=1).any()
    assert len(bank.outcomes) <= 64
    assert float(bank.weight.exp().sum()) == pytest.approx(1)


def test_groups_that_no_test_tells_apart_are_merged_nearest_first_and_others_are_not():
    groups = [np.array([0, 2]), np.array([1, 3]), np.array([4, 6]), np.array([20])]
    distance = np.array([[0, 0.01, 0.02, 0.9], [0.01, 0, 0.02, 0.9], [0.02, 0.02, 0, 0.9], [0.9, 0.9, 0.9, 0]])
    tested = []

    def alike(one, other):
        tested.append((sorted(one.tolist()), sorted(other.tolist())))
        return abs(one.mean() - other.mean()) < 2

    assert clustering.merged_groups(groups, distance, alike, reach=0.2).tolist() == [0, 0, 1, 2]
    assert tested == [([0, 2], [1, 3]), ([0, 1, 2, 3], [4, 6])]


def test_the_center_of_a_group_is_the_mean_of_its_laws_and_the_nearest_to_its_members():
    corners = embeddings([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], actions=2)
    center = clustering.center_of(corners)
    assert torch.allclose(center.square(), torch.tensor([0.5, 0.5, 0.0]).expand(2, 3))
    other = embeddings([0.0, 0.0, 1.0], actions=2)
    assert clustering.nearest(torch.cat([corners, other]), torch.stack([other[0], center])).tolist() == [1, 1, 0]


def test_an_embedding_is_the_root_of_the_forecast_weighted_by_the_bank():
    bank = clustering.OutcomeBank(torch.eye(2), torch.tensor([0.75, 0.25]).log())
    (found,) = clustering.embeddings_of(torch.tensor([[[0.0, 0.0], [0.0, float(np.log(3.0))]]]), bank)
    assert torch.allclose(found.square(), torch.tensor([[0.75, 0.25], [0.5, 0.5]]))
