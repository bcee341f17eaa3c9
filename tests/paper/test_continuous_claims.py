from paper.continuous_claims import (
    baselines_are_far,
    close_to_oracle,
    faithful,
    impractical,
    inversely_correlated,
    more_efficient,
    right_states,
)
from paper.continuous_runs import LENGTH, QUICK, RETURN, SETS
from paper.continuous_tables import JUDGED
from understudy.runs import Runs


def table(**verdicts):
    """A table of judgements with these verdicts; all other sets are equivalent."""
    names = {name.replace("-", "_"): name for name in SETS}
    found = dict.fromkeys(SETS, "equivalent") | {names[key]: verdict for key, verdict in verdicts.items()}
    columns = {"set": list(found), "95%": [(0.0, 0.1)] * len(found), "verdict": list(found.values())}
    return dict.fromkeys(JUDGED, columns)


def test_claims_need_a_test_that_can_tell():
    apart = {"obs_only": "different", "act_only": "different", "random": "different"}
    assert right_states(table(**apart)).holds is True
    assert right_states(table()).holds is None
    assert right_states(table(PSRS_Forward="different")).holds is False
    assert right_states(table(PSRS_Forward="undecided", **apart)).holds is None
    assert baselines_are_far(table(**apart)).holds is True
    assert baselines_are_far(table(**apart | {"random": "undecided"})).holds is None
    assert close_to_oracle(table(PSRS_oracle="different")).holds is False
    assert [claim.holds for claim in faithful(table(PSRS_Homer="different"))] == [False, False]


def test_replay_of_observations_is_impractical_only_if_it_is_short(runs_of):
    assert impractical(runs_of([5, 8, 900])).holds is True
    assert impractical(runs_of([5, 1800, 1900])).holds is False


def test_lengths_and_returns_are_inversely_correlated_only_if_one_falls_as_the_other_rises(run_of):
    def real(sign):
        curves = {LENGTH: lambda t: 100.0 - t, RETURN: lambda t: sign * t + t % 3}
        return Runs((run_of(60, curves), run_of(60, curves)))

    assert inversely_correlated(real(1.0)).holds is True
    assert inversely_correlated(real(-1.0)).holds is False


def test_psrs_is_more_efficient_only_where_it_lasts_longer_with_every_encoder(runs_of):
    lengths = {name: 200 if name.startswith("PSRS") else 100 for name in SETS}

    def holds(**others):
        sets = {name: runs_of([n] * 3) for name, n in (lengths | others).items()}
        return more_efficient(sets, QUICK).holds

    assert holds() is True
    assert holds(**{"QBE-Homer": 200}) is None
    assert holds(**{"QBE-Homer": 300}) is False
