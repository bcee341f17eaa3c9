"""Names of parts are folders that no name can leave, and that DuckDB, polars and pyarrow read back as they were."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.errors import ResultsError, SettingError
from understudy.sweeps.names import NULL, Combination, check_names, check_rules, combination_of, is_left_out

HOSTILE = [
    "../x", "a/b", "..", ".", "/", "\\", "=", "a=b", "%2F", "100%", "ünï ☃ 日本", "😀", "a b", " a ", "*", "?", "[x]",
    "{a}", "'", '"', "a\nb", "\x1b[31m", "1", "007", "1e5", "2024-01-01", "true", "NULL", "null", "None", "nan", "#",
    "~", "x" * 200,
]  # fmt: skip
ENGINES = ("pyarrow", "polars", "duckdb")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A table whose partitions have hostile names; each file has the place of its name."""
    root = tmp_path_factory.mktemp("names")
    for number, name in enumerate(HOSTILE):
        folder = root / "runs" / Combination(name, "psrs", "identity", "may").partition
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"number": [number]}), folder / "part-0.parquet")
    return root


def read_by(engine, root):
    if engine == "pyarrow":
        import pyarrow.dataset as ds

        return ds.dataset(root / "runs", partitioning="hive").to_table().select(["number", "learner"]).to_pylist()
    if engine == "polars":
        polars = pytest.importorskip("polars")
        found = polars.scan_parquet(root / "runs/**/*.parquet", hive_partitioning=True)
        return found.select("number", "learner").collect().to_dicts()
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed; make test installs it")
    found = duckdb.sql(
        f"select number, learner from read_parquet('{root}/runs/**/*.parquet', hive_partitioning = true)"
    )
    return [{"number": number, "learner": learner} for number, learner in found.fetchall()]


@pytest.mark.parametrize("engine", ENGINES)
def test_hostile_names_are_read_back_as_they_were(engine, hostile):
    found = {line["number"]: line["learner"] for line in read_by(engine, hostile)}
    assert found == dict(enumerate(HOSTILE))


def test_no_name_leaves_its_folder(hostile):
    files = [path for path in hostile.rglob("*") if path.is_file()]
    assert len(files) == len(HOSTILE)
    assert {len(path.relative_to(hostile).parts) for path in files} == {6}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_partition_is_the_combination_again(name):
    one = Combination(name, name, "identity", name)
    assert combination_of(one.partition) == one


@pytest.mark.parametrize("folder", ["runs", "learner=a/simulator=b/encoder=c", "learner=a/log=b/encoder=c/simulator=d",
                                    "learner=a/simulator=b/encoder=c/log=%zz%2f"])  # fmt: skip
def test_other_folders_are_not_combinations(folder):
    with pytest.raises(ResultsError, match="not the folder of a combination"):
        combination_of(folder)


@pytest.mark.parametrize("name", ["", NULL, None, 3, "\ud800", "x" * 201, "é" * 40])
def test_names_that_no_folder_can_hold_are_refused(name):
    with pytest.raises(SettingError, match="learner"):
        check_names("learner", [name])


def test_names_that_differ_in_case_alone_are_refused():
    with pytest.raises(SettingError, match="'Q' and 'q'"):
        check_names("learner", ["Q", "q"])
    check_names("learner", ["q", "r"])


def test_rules_name_combinations_to_leave_out():
    one = Combination("q", "psrs", "identity", "may")
    assert is_left_out(one, [{"learner": "q", "log": ["june", "may"]}])
    assert not is_left_out(one, [{"learner": "q", "log": "june"}, {"simulator": "qbe"}])


@pytest.mark.parametrize(
    ("rules", "match"),
    [({"learner": "q"}, "give a list"), ([{"lerner": "q"}], "not a table of names"), ([{}], "not a table"),
     ([{"learner": "x"}], "does not have; it has 'q'"), ([{"learner": 3}], "the learner 3"),
     ([{"learner": [["q"]]}], "does not have")],
)  # fmt: skip
def test_rules_of_nothing_are_refused(rules, match):
    with pytest.raises(SettingError, match=match):
        check_rules(rules, {"learner": ["q"], "simulator": ["psrs"], "encoder": ["identity"], "log": ["may"]})
