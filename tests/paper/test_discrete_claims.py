from paper.discrete_claims import accurate, is_twice, more_efficient, unbiased
from paper.discrete_tables import judgement
from paper.noisy_grid import CONTROL, PSRS_X, PSRS_Z, Case


def test_without_a_rejected_control_nothing_is_called_accurate():
    def judged(*verdicts):
        rows = {"set": [PSRS_X, PSRS_Z, CONTROL], "verdict": list(verdicts)}
        return {Case(4): rows | {"95%": [(0.0, 0.01)] * 3, "margin": [0.015] * 3}}

    assert accurate(judged("equivalent", "equivalent", "different")).holds is True
    assert accurate(judged("equivalent", "equivalent", "undecided")).holds is None
    assert accurate(judged("equivalent", "different", "different")).holds is False


def test_a_ratio_is_about_two_only_if_its_interval_is():
    assert is_twice((1.8, 2.2)) is True
    assert is_twice((1.0, 1.2)) is False
    assert is_twice((1.5, 2.0)) is None


def test_one_case_where_qbe_lasts_longer_is_enough_against_the_claim():
    table = {"setting": ["1", "2", "1"], "case": ["k"] * 3, "queued by": ["states", "states", "observations"]}

    def holds(*intervals):
        on_observations, on_states = more_efficient(table | {"95%": [*intervals, (1.1, 1.2)]})
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
