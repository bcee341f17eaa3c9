import io

import pytest
from rich.console import Console

from understudy.reporting.measurements import measure
from understudy.reporting.terminal import as_rich, brief_table, least_width
from understudy.tables import NONE, Column, Table
from understudy.trust import Forecast


def shown(table, width=80):
    console = Console(width=width, file=io.StringIO())
    console.print(as_rich(table, console.width))
    return console.file.getvalue()


def test_without_real_runs_the_table_tells_how_long_and_what_ran_out(runs_of):
    table = brief_table(measure({"psrs": runs_of([40] * 3)}))
    assert table.columns == ("", "steps", "log", "return", "ran out")
    assert table.rows[0][1] == "40"


def test_beside_real_runs_it_tells_how_close_too(runs_of, real_of):
    table = brief_table(measure({"psrs": runs_of([40] * 3), "real": real_of([100] * 3)}))
    assert table.columns[3:6] == ("RMSE", "mean", "max")
    assert "up to step 40" in table.title
    assert len(table.notes) == 1


def test_forecasts_and_trusted_horizons_have_a_column_where_there_are_any(halved_of, runs_of):
    forecast = Forecast(95, (80, 110), 0.9, 5, {}, 19, 0)
    sets = {"psrs": halved_of([100] * 8, [60] * 4), "bare": runs_of([40] * 3)}
    table = brief_table(measure(sets, margin=0.3, forecasts={"psrs": forecast}))
    assert table.columns[:5] == ("", "steps", "forecast", "trusted", "log")
    assert [row[1:4] for row in table.rows] == [("100", "95", "60"), ("40", NONE, NONE)]
    assert "trusted: the step up to which" in table.title


def test_beside_errors_there_is_no_room_for_them(halved_of, real_of):
    sets = {"psrs": halved_of([100] * 8, [60] * 4), "real": real_of([100] * 8)}
    table = brief_table(measure(sets, forecasts={"psrs": Forecast(95, (80, 110), 0.9, 5, {}, 19, 0)}))
    assert table.columns == ("", "steps", "log", "RMSE", "mean", "max", "ran out")


@pytest.mark.parametrize("name", ["[bold]psrs[/bold]", "[/]", "plain"])
def test_the_terminal_shows_names_as_they_are(runs_of, name):
    assert name in shown(brief_table(measure({name: runs_of([40])})))


def test_eighty_columns_are_enough(runs_of, real_of):
    names = {
        "PSRS, latent states": runs_of([40] * 3),
        "QBE, observations": runs_of([40] * 3),
        "real": real_of([100] * 3),
    }
    lines = shown(brief_table(measure(names))).splitlines()
    assert all(any(line.lstrip().startswith(name) for line in lines) for name in names)


def test_the_terminal_obeys_no_escape_byte_of_a_name(runs_of):
    text = shown(brief_table(measure({"\x1b[31mred\n": runs_of([40])})))
    assert "\\x1b[31mred\\n" in text
    assert "\x1b" not in text


def test_exact_steps_stand_beside_steps_where_a_set_is_on_a_ladder(runs_of, on_ladder):
    sets = {"qbe": on_ladder(runs_of([100] * 3), {40: 1}), "psrs": runs_of([60] * 3)}
    table = brief_table(measure(sets))
    assert table.columns[:3] == ("", "steps", "exact")
    assert [row[2] for row in table.rows] == ["40", NONE]
    assert "exact: the step up to which nine of ten runs used no lower rung" in table.title


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_number_is_cut_however_narrow_the_terminal_is(width):
    headings = (
        Column("learner", numeric=False), Column("log", numeric=False), Column("median steps"), Column("mean reward"),
    )  # fmt: skip
    names = "q-learning:epsilon=0.3,alpha=0.1", "a log with a name of many words"
    table = Table("a title", headings, ((*names, "1,234,567", "77.25 to 78.5"), ("uniform", "june", "7", "0.125")))
    text = shown(table, max(width, least_width(table)))
    for number in ("1,234,567", "77.25 to 78.5", "0.125"):
        assert number in text
    joined = "".join(text.split())
    assert all(part in joined for part in ("uniform", "june"))
    assert max(map(len, text.splitlines())) <= max(width, least_width(table))
