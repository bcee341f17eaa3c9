"""Claims that should hold, in quick form; by tests that fail for what is wrong."""

import numpy as np

from paper import discrete, grids
from paper.discrete_claims import accurate, is_twice, more_efficient, ordered, replays_the_log, unbiased
from paper.discrete_tables import distinct, judgement
from paper.noisy_grid import CONTROL, PSRS_X, PSRS_Z, Case, environment, soft_policy


def claim(item, words):
    return next(claim for claim in item.claims if words in claim.claim)


def test_latent_states_last_longer_in_settings_2_and_3(quick):
    workspace, item = quick("discrete")
    assert claim(item, "more efficient than using raw").holds is True
    settings, rules, case = discrete.QUICK, grids.OURS, Case(4)
    sets = discrete.on_own_logs(workspace, settings, rules, case)
    swapped = {setting: {PSRS_X: found[PSRS_Z], PSRS_Z: found[PSRS_X]} for setting, found in sets.items()}
    assert [one.holds for one in ordered({case: sets}, [case])] == [True, None]  # of a trend one case says nothing
    assert ordered({case: swapped}, [case])[0].holds is False
    less = {case: sets, Case(3): swapped}
    assert ordered(less, [case])[1].holds is True
    assert ordered({case: swapped, Case(3): sets}, [case])[1].holds is False


def test_psrs_is_accurate_by_a_test_that_rejects_states_only(quick):
    _, item = quick("discrete")
    assert claim(item, "accurate").holds is True
    table = next(table.columns for table in item.tables if table.name == "fidelity")
    verdicts = {name: set() for name in table["set"]}
    for name, verdict in zip(table["set"], table["verdict"], strict=True):
        verdicts[name].add(verdict)
    assert verdicts[PSRS_X] == verdicts[PSRS_Z] == {"equivalent"}
    assert verdicts[CONTROL] == {"different"}


def test_without_a_rejected_control_nothing_is_called_accurate():
    def judged(*verdicts):
        rows = {"set": [PSRS_X, PSRS_Z, CONTROL], "verdict": list(verdicts)}
        return {Case(4): rows | {"95 %": [(0.0, 0.01)] * 3, "margin": [0.015] * 3}}

    assert accurate(judged("equivalent", "equivalent", "different")).holds is True
    assert accurate(judged("equivalent", "equivalent", "undecided")).holds is None
    assert accurate(judged("equivalent", "different", "different")).holds is False


def test_setting_1_replays_the_log_in_the_exact_order(quick):
    workspace, item = quick("discrete")
    replayed = discrete.replays(workspace, discrete.QUICK, grids.OURS, Case(4))
    log = grids.record(environment(Case(4)), discrete.QUICK.episodes, workspace.seed)
    assert set(replayed.lengths) == {len(log)}
    assert claim(item, "is the log itself").holds is True
    shuffled = discrete.on_one_log(workspace, discrete.QUICK, grids.OURS, Case(4))["setting 1"][PSRS_X]
    assert replays_the_log(shuffled, len(log), distinct(shuffled)).holds is False


def test_a_ratio_is_about_two_only_if_its_interval_is():
    assert is_twice((1.8, 2.2)) is True
    assert is_twice((1.0, 1.2)) is False
    assert is_twice((1.5, 2.0)) is None


def test_one_case_where_qbe_lasts_longer_is_enough_against_the_claim():
    table = {"setting": ["1", "2", "1"], "case": ["k"] * 3, "queued by": ["states", "states", "observations"]}

    def holds(*intervals):
        on_observations, on_states = more_efficient(table | {"95 %": [*intervals, (1.1, 1.2)]})
        assert on_observations.holds is True
        return on_states.holds

    assert holds((1.1, 1.2), (1.01, 1.3)) is True
    assert holds((1.1, 1.2), (0.9, 1.3)) is None
    assert holds((1.1, 1.2), (0.8, 0.9)) is False


def test_estimates_are_unbiased_only_by_a_test_that_rejects_states_only():
    def holds(ours, control):
        intervals = {"equivalent": (0.055, 0.065), "different": (0.2, 0.3), "undecided": (0.05, 0.09)}
        columns = {"setting": ["setting 2"] * 2, "case": ["k = 4"] * 2, "set": [PSRS_X, CONTROL]}
        verdicts = [judgement(intervals[name], 0.06, 0.01) for name in (ours, control)]
        assert verdicts == [ours, control]
        return unbiased(
            columns
            | {"exact value": [0.06] * 2, "mean estimate": [0.06] * 2, "margin": [0.01] * 2, "verdict": verdicts}
        ).holds

    assert holds("equivalent", "different") is True
    assert holds("equivalent", "undecided") is None
    assert holds("undecided", "different") is None
    assert holds("different", "different") is False


def test_estimates_of_the_quick_form_reject_the_control(quick):
    _, item = quick("discrete")
    table = next(table.columns for table in item.tables if table.name == "estimates")
    verdicts = dict(zip(zip(table["set"], table["setting"], strict=True), table["verdict"], strict=True))
    assert verdicts[CONTROL, "setting 2"] == "different"
    assert verdicts[PSRS_Z, "setting 1"] != "different"


def test_the_policy_of_setting_2_shares_ties():
    policy = soft_policy(environment(Case(1)))
    assert np.allclose(policy[0], [0.04, 0.44, 0.44, 0.04, 0.04])
    assert np.allclose(policy.sum(axis=1), 1.0)
