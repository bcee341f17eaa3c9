from dataclasses import replace

import pytest

from understudy.reporting.belief_table import belief_table, in_words
from understudy.reporting.measurements import measure


@pytest.fixture
def table_of(halved_of):
    def table(*probes, **changes):
        sets = {probe: halved_of([100] * 8, [60] * 4, probe=probe) for probe in probes}
        measured = replace(
            measure(sets | {"again": halved_of([100] * 8, [60] * 4, probe=probes[0])}, margin=0.3), **changes
        )
        return belief_table(measured.luck, measured)

    return table


def test_sets_that_were_judged_by_different_probes_say_which_and_share_no_margin(table_of):
    one, several = table_of("g"), table_of("g", "h")
    assert "judged by" not in [column.name for column in one.headings]
    assert [column.name for column in several.headings][1] == "judged by"
    assert [row[:2] for row in several.rows] == [("g", "g"), ("h", "h"), ("again", "g")]
    assert "of “g”, within a margin of" in several.notes[0]
    assert "of “h”, within a margin of" in several.notes[0]
    assert "cannot be compared" in several.notes[0]
    assert in_words(several.rows[1]).startswith("“h”, judged by “h”: up to step 60, give or take")


def test_a_set_that_something_speaks_against_is_trusted_at_no_step(table_of):
    rows = {row[0]: row for row in table_of("g", doubted=frozenset({"g"})).rows}
    assert rows["again"][1] == "60"
    assert rows["g"][1] == "0"
    assert in_words(rows["g"]).startswith("“g”: at no step; not to be believed.")
