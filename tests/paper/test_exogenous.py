import pytest

from paper.exogenous import EXOGENOUS, STATES


@pytest.mark.slow
def test_the_exogenous_algorithm_is_accurate_where_latent_states_are_biased(quick):
    _, item = quick("exogenous")
    table = next(table.columns for table in item.tables if table.name == "fidelity-together")
    verdict = dict(zip(table["set"], table["verdict"], strict=True))
    assert verdict[EXOGENOUS] == "equivalent"
    assert verdict[STATES] == "different"  # by the same test, over the same steps
