"""What was kept is read back: tables, curves, and words for people."""

import re
from pathlib import Path

import numpy as np
import pytest

import understudy as us
from understudy.errors import ResultsError, SettingError
from understudy.sweeps import Sweep
from understudy.sweeps.run_tables import CURVES, RUNS

ONE = {"learner": "small", "simulator": "psrs"}


@pytest.fixture(scope="module")
def found(made):
    return us.load_sweep(made)


def test_a_mean_curve_is_that_of_the_runs(found, log, learners):
    probes = {"reward so far": us.probes.reward_so_far}
    runs = us.experiment(us.psrs(log), learners["small"], runs=6, max_steps=60, probes=probes, every=20, progress=False)
    expected, curve = us.mean_curve(runs, "reward so far"), found.mean_curve(**ONE)
    assert isinstance(curve, us.MeanCurve)
    assert curve.horizon == expected.horizon
    for name in ("steps", "mean", "half_width", "complete", "below", "above"):
        np.testing.assert_array_equal(getattr(curve, name), getattr(expected, name))


def test_tables_are_scanned_without_loading(found):
    import pyarrow.dataset as ds

    dataset = found.dataset()
    assert isinstance(dataset, ds.Dataset)
    assert dataset.count_rows(filter=ds.field("learner") == "small") == 12
    files = found.dataset("curves", **ONE).files
    assert files
    assert all("learner=small/simulator=psrs" in file for file in files)


def test_frames_have_the_rows_of_their_names(found):
    assert len(found.to_frame()) == 24
    assert sorted(found.to_frame(**ONE)["number"].to_pylist()) == list(range(6))
    assert set(found.to_frame("curves", learner="large")["learner"].to_pylist()) == {"large"}


def test_what_was_run_is_known(found):
    about = found.about(**ONE)
    assert about.learner["epsilon"] == 0.1
    assert about.max_steps == 60
    assert found.probes(**ONE) == ["reward so far"]


@pytest.mark.parametrize(
    ("names", "match"),
    [({"learner": "other"}, "no learner 'other' in the sweep; there is 'large', 'small'"),
     ({"lerner": "small"}, "no 'lerner' in a sweep"), ({"learner": "small"}, "2 combinations .* give simulator=")],
)  # fmt: skip
def test_names_that_are_not_there_are_refused(found, names, match):
    with pytest.raises(SettingError, match=match):
        found.mean_curve(**names)


def test_probes_that_are_not_there_are_refused(found):
    with pytest.raises(SettingError, match="no reading of a probe 'value' here; there are readings of 'reward so far'"):
        found.mean_curve("value", **ONE)
    with pytest.raises(SettingError, match="not one of 'runs', 'curves'"):
        found.dataset("episodes")


def test_a_sweep_says_what_it_holds(found):
    assert str(found).endswith("24 runs of 4 combinations (2 learners x 2 simulators x 1 encoder x 1 log)")
    table = found.table()
    assert len(table.rows) == 4
    assert table.rows[0][:5] == ("large", "psrs", "identity", "may", "6")
    assert "<table>" in found._repr_html_()


def test_names_are_escaped_in_notebooks(log, learners, settings, tmp_path):
    names = {"<b>&": learners["small"]}
    found = us.sweep(names, "psrs", {"../x": log}, out=tmp_path / "out", runs=1, **settings)
    assert "&lt;b&gt;&amp;" in found._repr_html_()
    assert "<b>" not in found._repr_html_()
    assert found.names("learner") == ["<b>&"]
    assert found.names("log") == ["../x"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("table", ["runs", "curves"])
def test_a_damaged_file_is_named(copied, damage, table):
    found = us.load_sweep(copied)
    whole = found.to_frame(table)
    file = next((copied / table).rglob("*.parquet"))
    content, n_refused = file.read_bytes(), 0
    for damaged in damage(content, 300):
        file.write_bytes(damaged)
        if damaged == content:
            assert found.to_frame(table).equals(whole)
            continue
        with pytest.raises(ResultsError, match=file.name):
            found.to_frame(table)
        n_refused += 1
    assert n_refused > 200


def test_damage_that_checksums_of_pages_do_not_notice_is_noticed(copied):
    """A letter of a column's name, which Arrow would read as an empty column."""
    found = us.load_sweep(copied)
    file = next((copied / "runs").rglob("*.parquet"))
    file.write_bytes(file.read_bytes().replace(b"episodes", b"epirodes"))
    assert found.dataset().to_table()["episodes"].null_count > 0
    with pytest.raises(ResultsError, match="does not match the digest in its name; remove it, and call the sweep"):
        found.to_frame()


def test_a_sweep_without_a_run_yet_has_empty_tables(tmp_path):
    found = Sweep(tmp_path, ())
    assert len(found.to_frame()) == len(found.to_frame("curves")) == 0
    assert str(found).endswith("0 runs of 0 combinations (0 learners x 0 simulators x 0 encoders x 0 logs)")


def test_the_sum_of_a_runs_rewards_is_not_called_its_mean(found):
    table = found.table()
    place = table.columns.index("mean total reward")
    sums = found.to_frame(**found.combinations[0]._asdict())["reward"].to_numpy()
    assert float(table.rows[0][place].replace(",", "")) == pytest.approx(sums.mean(), rel=1e-3)
    assert "mean reward" not in table.columns


PAGE = Path(__file__).parents[2] / "docs" / "sweeps.md"
QUERIES = re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("place", range(3))
def test_queries_of_the_documentation_run(place, log, learners, settings, tmp_path, monkeypatch):
    duckdb = pytest.importorskip("duckdb", reason="in the extra [test]")
    named = {"careful": learners["small"], "curious": learners["large"]}
    found = us.sweep(named, ["psrs", "qbe"], {"may": log}, out=tmp_path / "results", runs=4, **settings)
    monkeypatch.chdir(tmp_path)
    lines = duckdb.sql(QUERIES[place]).fetchall()
    curve = found.mean_curve(learner="careful", simulator="psrs")
    rows = (found.to_frame(learner=name, simulator="psrs").sort_by("number") for name in named)
    careful, curious = (table["reward"].to_numpy() for table in rows)
    if place == 0:
        rewards = {(learner, simulator): reward for learner, simulator, *_, reward in lines}
        assert rewards["careful", "psrs"] == pytest.approx(careful.mean())
        assert len(rewards) == 4
    elif place == 1:
        ((where, ahead, error),) = lines
        assert (where, ahead) == ("may", pytest.approx((careful - curious).mean()))
        assert error == pytest.approx((careful - curious).std(ddof=1) / 2)
    else:
        means = [(step, pytest.approx(value)) for learner, _, step, value in lines if learner == "careful"]
        assert means == list(zip(curve.steps.tolist(), curve.mean.tolist(), strict=True))
    assert len(QUERIES) == 3


def test_columns_are_documented():
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    documented = re.findall(r"`(\w+)`", " ".join(line.split("|")[1] for line in lines))
    assert sorted(documented) == sorted([*RUNS, *CURVES])


def test_a_folder_of_something_else_is_refused(tmp_path):
    with pytest.raises(ResultsError, match="not the folder of a sweep"):
        us.load_sweep(tmp_path)


def test_a_device_in_place_of_a_file_is_refused(copied):
    file = next((copied / "curves").rglob("*.parquet"))
    file.unlink()
    file.symlink_to("/dev/zero")
    with pytest.raises(ResultsError, match=r"curves.* cannot be read \(.*not a plain file"):
        us.load_sweep(copied).to_frame("curves")
