import pytest

from paper.continuous_runs import REAL, SETS
from paper.continuous_tables import JUDGED


@pytest.mark.slow
def test_the_quick_form_has_every_set_beside_the_papers_numbers(quick):
    _, item = quick("continuous")
    tables = {table.name: table.columns for table in item.tables}
    assert tables["published"]["simulation"] == [REAL, *SETS]
    assert tables["headline"]["set"] == list(SETS)
    assert {name: tables[name]["set"] for name in JUDGED} == {name: list(SETS) for name in JUDGED}
    beside = {line.what: line.paper for line in item.comparisons}
    assert beside["PSRS-Homer, fidelity over 16 epochs"] == 0.203
    assert beside["obs-only, efficiency (epochs)"] == 50
    assert {picture.name for picture in item.pictures} >= {"training", "validation", "lengths", "validation-runs"}
