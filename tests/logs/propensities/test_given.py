import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import understudy as us
from understudy.errors import ContractError, LogError, SettingError
from understudy.logs import Log, read

TABLE = np.array([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2], [1 / 3, 1 / 3, 1 / 3]])


def columns_of(seed=0, n=200):
    """Decisions at three observations, with the propensity of the chosen action to three decimals."""
    rng = np.random.default_rng(seed)
    observation = rng.integers(3, size=n)
    p = TABLE[observation]
    action = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    chosen = p[np.arange(n), action].round(3)
    return {"observation": observation, "action": action, "reward": rng.random(n), "propensity": chosen}


@pytest.fixture
def log():
    return Log.from_columns(**columns_of(), ends="every-row")


FRAME = {"observation": [2, 0, 1], **{str(code): TABLE[[2, 0, 1], code] for code in range(3)}}


def one_by_one(observation, action):
    return TABLE[observation, action]


@pytest.mark.parametrize(
    "given",
    [
        TABLE, TABLE.tolist(), dict(enumerate(TABLE)), pa.table(FRAME), pd.DataFrame(FRAME), pl.DataFrame(FRAME),
        lambda seen: TABLE[seen], one_by_one, pa.table({f"propensity_{key}" if key.isdigit() else key: column
                                                        for key, column in FRAME.items()}),
    ],
    ids=["array", "lists", "mapping", "arrow", "pandas", "polars", "function", "function of two", "numbered"],
)  # fmt: skip
def test_every_form_gives_the_same_log(log, given):
    full = log.with_propensities(given)
    assert np.allclose(full.propensity, TABLE[log.observation])
    assert full.propensity_source.kind == ("function" if callable(given) else "table")
    assert full.propensity_source.kind in repr(full)
    assert us.psrs(full) is not None
    assert log.propensity.ndim == 1  # the log it was made of stays as it is


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_files_are_read(log, tmp_path, ending):
    frame = pd.DataFrame(FRAME)
    path = tmp_path / f"table{ending}"
    frame.to_parquet(path) if ending == ".parquet" else frame.to_csv(path, index=False)
    assert np.allclose(log.with_propensities(path).propensity, TABLE[log.observation])
    assert np.allclose(log.with_propensities(str(path)).propensity, TABLE[log.observation])


def test_columns_are_found_by_the_names_of_the_log():
    columns = columns_of()
    frame = pd.DataFrame({
        "page": columns["observation"], "hour": 0.5, "arm": np.array(["a", "b", "c"])[columns["action"]],
        "reward": 0.0, "p": columns["propensity"],
    })  # fmt: skip
    log = read(
        frame, observation=["page", "hour"], action="arm", propensity="p", actions=["c", "a", "b"], ends="every-row"
    )
    table = {"b": TABLE[:, 1], "note": ["x", "y", "z"], "hour": [0.5] * 3, "page": [0, 1, 2], "a": TABLE[:, 0]}
    full = log.with_propensities(pa.table({**table, "c": TABLE[:, 2]}))
    assert np.allclose(full.propensity, TABLE[columns["observation"]][:, [2, 0, 1]])


def test_observations_of_several_entries_are_keys():
    seen = np.array([[0.5, 1.0], [0.25, 2.0], [0.5, 1.0]])
    log = Log.from_columns(observation=seen, action=[0, 1, 1], reward=[0, 0, 0], ends="every-row")
    full = log.with_propensities({(0.5, 1.0): [0.3, 0.7], (0.25, 2.0): [0.1, 0.9]})
    assert full.propensity[:, 0].tolist() == [0.3, 0.1, 0.3]


def test_a_function_cannot_change_the_log(log):
    def scribbling(seen):
        p = TABLE[seen]
        seen[:] = 0
        return p

    before = log.observation.copy()
    log.with_propensities(scribbling)
    assert np.array_equal(log.observation, before)


def test_other_propensities_than_the_logged_ones_are_refused_with_their_row(log):
    wrong = TABLE.copy()
    wrong[1] = [0.6, 0.21, 0.19]
    first = int(np.flatnonzero((log.observation == 1) & (log.action > 0))[0])
    with pytest.raises(LogError, match=f"in row {first} is 0.{'21' if log.action[first] == 1 else '19'} in what was"):
        log.with_propensities(wrong)
    assert log.with_propensities(TABLE.round(6)).propensity.ndim == 2  # the difference is rounding


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (TABLE * 0.98, r"row 0, .*, are not a distribution.* they sum to 0\.98"),
        (np.where(TABLE == 0.5, -0.5, TABLE), "not all 0 or more"),
        (TABLE * np.nan, "not all 0 or more"),
        (lambda seen, action: None, "row 0, nan, nan, nan"),
        (TABLE[:2], "has 2 rows, and the observation in row"),
        ({0: TABLE[0]}, "no propensities are given for observation"),
        ({0: TABLE[0], 1: "a", 2: TABLE[2]}, "is not a vector of numbers"),
        ({0: TABLE[0], 1: TABLE[1, :2], 2: TABLE[2]}, "has shape"),
        (pa.table({**FRAME, "observation": [0, 1, 1]}), "there twice"),
        (pa.table({**FRAME, "observation": [0, 1, 7]}), r"no row for 2, the observation of row .* in all; add them$"),
        (pa.table({"observation": [0, 1, 2], "0": [1.0] * 3}), "needs one for each action: 0, 1, 2"),
        (pa.table({str(code): TABLE[:, code] for code in range(3)}), "needs those of the observation"),
        ("nothing.parquet", "does not exist"),
    ],
)
def test_what_does_not_fit_the_log_is_refused(log, given, message):
    with pytest.raises(LogError, match=message):
        log.with_propensities(given)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (TABLE[:, :2], SettingError, "give a column for each"),
        (object(), SettingError, "give an array"),
        (3.5, SettingError, "has shape"),
        (lambda seen: seen, ContractError, "returned shape"),
        (lambda seen: "text", ContractError, "not a vector"),
        (lambda seen, action: "text", ContractError, "one probability"),
    ],
)
def test_what_is_no_table_or_function_is_refused(log, given, error, message):
    with pytest.raises(error, match=message):
        log.with_propensities(given)


def broken(seen, action):
    return 0.5 if action == 0 else {}["price"]


def broken_for_all(seen):
    raise ZeroDivisionError("no rows")


def test_an_error_of_the_function_names_it_and_the_row_and_is_the_cause(log):
    named = r"^broken raised KeyError for the observation of row \d+ and action 1: "
    with pytest.raises(ContractError, match=named) as raised:
        log.with_propensities(broken)
    assert isinstance(raised.value.__cause__, KeyError)
    with pytest.raises(
        ContractError, match=r"^broken_for_all raised ZeroDivisionError for all observations: no rows; "
    ):
        log.with_propensities(broken_for_all)


def test_an_action_that_was_taken_cannot_have_propensity_zero():
    log = Log.from_columns(observation=[0, 0], action=[0, 1], reward=[0, 0], ends="every-row")
    with pytest.raises(LogError, match="taken in row 1 has propensity 0"):
        log.with_propensities([[1.0, 0.0]])


def test_an_array_needs_codes():
    log = Log.from_columns(observation=[[0.5], [0.1]], action=[0, 1], reward=[0, 0], ends="every-row")
    with pytest.raises(SettingError, match="give a function"):
        log.with_propensities([[0.5, 0.5]])


@pytest.mark.parametrize("form", ["frame", "file", "mapping"])
def test_texts_are_coded_like_those_of_the_log(tmp_path, form):
    columns = columns_of()
    words = np.array(["007", "home", "cart"])[columns["observation"]]
    frame = pd.DataFrame({**columns, "observation": words}).rename(columns={"observation": "page"})
    frame["hour"] = columns["observation"] * 0.5
    log = read(frame, observation=["page", "hour"], ends="every-row")
    table = pd.DataFrame({"page": ["home", "007", "cart", "new"], "hour": [0.5, 0.0, 1.0, 9.0]})
    for code in range(3):
        table[str(code)] = [*TABLE[[1, 0, 2], code], 1 / 3]
    given = table
    if form == "file":
        given = tmp_path / "table.csv"
        table.to_csv(given, index=False)
    elif form == "mapping":
        given = {("007", 0.0): TABLE[0], ("home", 0.5): TABLE[1], ("cart", 1.0): TABLE[2]}
    assert np.allclose(log.with_propensities(given).propensity, TABLE[columns["observation"]])


@pytest.mark.parametrize("given", [pa.table({"x": [0.5], "0": [0.5], "1": [0.5]}), {(0.5,): [0.5, 0.5]}])
def test_of_numbers_that_do_not_recur_columns_of_the_log_are_the_way(given):
    log = Log.from_columns(
        observation={"x": [0.5, 0.25, 0.125]}, action=[0, 1, 0], reward=[0, 0, 1], ends="every-row", n_actions=2
    )
    with pytest.raises(LogError, match=r"add a column for each action to the log, .* name these columns with"):
        log.with_propensities(given)
