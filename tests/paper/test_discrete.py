"""Claims that should hold, in quick form; by tests that fail for what is wrong."""

import pytest

from paper import discrete, grids
from paper.discrete_claims import ordered, replays_the_log
from paper.discrete_tables import distinct
from paper.noisy_grid import CONTROL, PSRS_X, PSRS_Z, Case, environment


def claim_with(item, words):
    return next(claim for claim in item.claims if words in claim.text)


@pytest.mark.slow
def test_latent_states_last_longer_in_settings_2_and_3(quick):
    workspace, item = quick("discrete")
    assert claim_with(item, "more efficient than using raw").holds is True
    settings, rules, case = discrete.QUICK, grids.OURS, Case(4)
    sets = discrete.on_own_logs(workspace, settings, rules, case)
    swapped = {setting: {PSRS_X: found[PSRS_Z], PSRS_Z: found[PSRS_X]} for setting, found in sets.items()}
    assert [one.holds for one in ordered({case: sets}, [case])] == [True, None]  # of a trend one case says nothing
    assert ordered({case: swapped}, [case])[0].holds is False
    less = {case: sets, Case(3): swapped}
    assert ordered(less, [case])[1].holds is True
    assert ordered({case: swapped, Case(3): sets}, [case])[1].holds is False


@pytest.mark.slow
def test_psrs_is_accurate_by_a_test_that_rejects_states_only(quick):
    _, item = quick("discrete")
    assert claim_with(item, "accurate").holds is True
    table = next(table.columns for table in item.tables if table.name == "fidelity")
    verdicts = {name: set() for name in table["set"]}
    for name, verdict in zip(table["set"], table["verdict"], strict=True):
        verdicts[name].add(verdict)
    assert verdicts[PSRS_X] == verdicts[PSRS_Z] == {"equivalent"}
    assert verdicts[CONTROL] == {"different"}


def test_setting_1_replays_the_log_in_the_exact_order(quick):
    workspace, item = quick("discrete")
    replayed = discrete.replays(workspace, discrete.QUICK, grids.OURS, Case(4))
    log = grids.record(environment(Case(4)), discrete.QUICK.episodes, workspace.seed)
    assert set(replayed.lengths) == {len(log)}
    assert claim_with(item, "is the log itself").holds is True
    shuffled = discrete.on_one_log(workspace, discrete.QUICK, grids.OURS, Case(4))["setting 1"][PSRS_X]
    assert replays_the_log(shuffled, len(log), distinct(shuffled)).holds is False


def test_estimates_of_the_quick_form_reject_the_control(quick):
    _, item = quick("discrete")
    table = next(table.columns for table in item.tables if table.name == "estimates")
    verdicts = dict(zip(zip(table["set"], table["setting"], strict=True), table["verdict"], strict=True))
    assert verdicts[CONTROL, "setting 2"] == "different"
    assert verdicts[PSRS_Z, "setting 1"] != "different"
