import json

import pyarrow as pa
import pytest

from understudy.errors import LogError
from understudy.logs import Log, check, read, write

COLUMNS = {
    "observation": [0, 1, 2, 5],
    "action": [0, 1, 0, 1],
    "reward": [0.0, 0.5, 1.0, 0.0],
    "terminated": [True] * 4,
}
KNOWN = {"actions": None, "n_actions": 2, "n_observations": 6, "max_episode_steps": None, "notes": [], "derived": []}
LOGGED = {"kind": "logged", "n_samples": None, "detail": "", "report": None}


def forged(**changes):
    return pa.table(COLUMNS).replace_schema_metadata({b"understudy": json.dumps({**KNOWN, **changes}).encode()})


def test_what_was_not_given_is_known_after_a_round_trip(tmp_path):
    bare = {name: COLUMNS[name] for name in ("observation", "action", "reward")}
    for columns in (COLUMNS, bare, {**COLUMNS, "next_observation": [1] * 4}, {**COLUMNS, "step": [0] * 4}):
        log = Log.from_columns(**columns)
        write(log, tmp_path / "log.parquet")
        assert read(tmp_path / "log.parquet").derived == log.derived
        assert str(check(tmp_path / "log.parquet")) == str(check(log))


def test_a_column_that_is_named_was_not_derived(tmp_path):
    log = Log.from_columns(**COLUMNS)
    write(log, tmp_path / "log.parquet")
    assert "next_observation" in read(tmp_path / "log.parquet").derived
    assert "next_observation" not in read(tmp_path / "log.parquet", next_observation="observation").derived


def test_the_forged_table_reads_where_nothing_is_forged():
    assert read(forged()).spec.n_observations == 6
    assert read(forged(propensity_source=LOGGED)).propensity_source is None  # the table has no propensities
    assert read(forged(n_observations=100, n_actions=7, max_episode_steps=3)).spec.n_observations == 100


@pytest.mark.parametrize(
    "changes",
    [{"n_actions": number} for number in (0, -1, 2**31, 10**15, 10**30, 1.5, True, "2", None, [2], 10**400)]
    + [{"n_observations": number} for number in (0, -5, 2**63 + 1, 10**30, "6", True, 2.0, {})]
    + [{"max_episode_steps": number} for number in (0, -5, 2**63, 10**30, "6", True, 2.0, [])]
    + [{"notes": notes} for notes in (None, "a", [1], [None], [["a"]], [{}], {"a": 1})]
    + [{"derived": derived} for derived in ("step", [1], ["reward"], {"step": 1}, [["step"]])]
    + [
        {"propensity_source": source}
        for source in ("logged", [], {}, {"kind": "logged"}, {**LOGGED, "kind": "x"}, {**LOGGED, "n_samples": 1.5})
    ]
    + [
        {"actions": actions}
        for actions in (
            ["a"],
            ["a", "a"],
            [1, 2],
            "ab",
            ["a", None],
            [],
            {},
            ["a", ""],
            ["a", "\ud800"],
            ["a", "b", "c"],
        )
    ],
    ids=lambda changes: repr(changes)[:40],
)
def test_forged_metadata_is_refused_in_a_sentence(changes):
    with pytest.raises(LogError) as refused:
        read(forged(**changes))
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("text", [b"", b"null", b"[" * 100_000, b'{"a":' * 5_000, b"1e999", b"\xff\xfe", b"9" * 10_000])
def test_metadata_that_is_no_table_is_refused(text):
    with pytest.raises(LogError, match="metadata stored beside the columns is damaged"):
        read(pa.table(COLUMNS).replace_schema_metadata({b"understudy": text}))


def test_metadata_is_not_asked_of_a_column_of_another_name():
    table = forged(n_actions=10**30).append_column("arm", pa.array([0, 1, 0, 1]))
    assert read(table, action="arm").spec.n_actions == 2


def test_escape_bytes_in_notes_are_shown_and_not_obeyed():
    audit = str(check(read(forged(notes=["note\x1b[31m: red\nerror: forged"]))))
    assert "note\\x1b[31m: red\\nerror: forged" in audit
    assert "\x1b" not in audit


BASIC = {"observation": [0, 1, 2, 5], "action": [0, 1, 0, 1], "reward": [0.0, 0.5, 1.0, 0.0]}
ENDED = {**BASIC, "terminated": [False, False, True, True]}


def test_damaged_metadata_is_refused():
    for text in (b"{", b"[1]", b'{"n_actions": "two"}', b"\xff"):
        with pytest.raises(LogError, match="metadata stored beside the columns is damaged"):
            read(pa.table(ENDED).replace_schema_metadata({b"understudy": text}))


def test_a_coding_that_does_not_fit_the_columns_is_damage():
    page = {"name": "page", "kind": "category", "labels": list("abcdef")}
    coding = {"columns": [page], "unseen": "error", "form": "codes"}
    assert read(forged(coding=coding)).spec.coding.columns[0].labels == tuple("abcdef")
    for wrong in (
        {**coding, "columns": [{**page, "labels": ["a", "b"]}]},
        {**coding, "columns": [page, page]},
        {**coding, "form": "one-hot"},
        {**coding, "unseen": "maybe"},
        [coding],
        "page",
    ):
        with pytest.raises(LogError, match="metadata stored beside the columns is damaged"):
            read(forged(coding=wrong))


def test_files_from_before_codings_are_read():
    assert read(forged()).spec.coding is None


def test_the_column_of_rewards_is_kept_by_name(tmp_path):
    visits = {"observation": [0, 1], "action": [0, 1], "paid": [1.0, 2.0], "euros": [3.0, 4.0]}
    log = read(visits, reward="paid", ends="every-row")
    assert log.spec.reward_column == "paid"
    assert read(visits, cost="euros", ends="every-row").spec.reward_column == "-euros"
    write(log, tmp_path / "log.parquet")
    assert read(tmp_path / "log.parquet").spec.reward_column == "paid"
