import pandas as pd
import pytest

from understudy.errors import LogError
from understudy.logs import check, read, write
from understudy.logs.column_coding import ColumnCoding
from understudy.logs.lookalikes import looks_like, notes_on_categories, notes_on_labels


def log_of(texts, **options):
    n = len(texts)
    frame = pd.DataFrame({"seen": texts, "action": [0, 1] * (n // 2) + [0] * (n % 2), "reward": [0.0] * n})
    return read(frame, observation="seen", ends="every-row", **options)


@pytest.mark.parametrize(
    ("texts", "advice"),
    [
        (["1,000", "2,500", "999"], "numbers, write them with a point"),
        (["1,5", "2,5"], "numbers, write them with a point"),
        (["5%", "7.5%", "10"], "numbers, write them without the sign"),
        (["$5", "7 €"], "numbers, write them without the currency"),
        (["1 000", "12'000"], "numbers, write them without gaps"),
        (["01/05/2024", "13/05/2024"], "dates, write them as 2024-05-31: day and month may be in either order"),
        (["1.5.24", "2.5.24"], "dates, write them as"),
        (["2024/05/01", "2024/5/2"], "dates, write them as 2024-05-31"),
    ],
)
def test_texts_that_may_be_numbers_or_dates_stay_categories_with_a_note(texts, advice):
    log = log_of(texts)
    assert log.spec.coding.columns[0].kind == "category"
    (note,) = [one for one in log.notes if one.startswith("coding: ")]
    assert advice in note
    assert [one.rule for one in check(log).findings if one.severity == "note"].count("coding") == 1
    assert not [one for one in log_of(texts, categories="seen").notes if one.startswith("coding: ")]


def test_words_need_no_note():
    for texts in (["home", "cart", "1,000"], ["1-2", "3-4"], ["007", "008"], ["v1.2.3", "v1.2.4"], ["a%", "b%"]):
        assert looks_like(texts) is None
    assert notes_on_categories([ColumnCoding("day", "date", origin="2024-01-01", unit="days")], ()) == []


def test_a_note_is_kept_with_the_log_and_not_made_twice(tmp_path):
    log = log_of(["5%", "7%", "5%"])
    write(log, tmp_path / "log.parquet")
    again = read(tmp_path / "log.parquet")
    assert [one for one in again.notes if one.startswith("coding: ")] == [
        one for one in log.notes if one.startswith("coding: ")
    ]
    assert not [one for one in log_of(["7%", "5%"], like=log).notes if one.startswith("coding: ")]


def test_many_distinct_ones_are_refused_with_the_same_advice():
    with pytest.raises(LogError, match="200 distinct texts such as '1,000' in 200 rows; if these are numbers, write"):
        log_of([f"{number:,}" for number in range(1000, 1200)])


def test_labels_that_differ_in_capitals_or_stand_for_nothing_are_noted():
    assert notes_on_labels("vip", ["yes", "no"]) == []
    (note,) = notes_on_labels("vip", ["YES", "no", "yes"])
    assert "the labels 'YES' and 'yes', which differ only in capital letters" in note
    (note,) = notes_on_labels("page", ["home", "N/A"])
    assert "the label 'N/A', which is a value like others" in note
    named = read({"observation": [0, 0], "action": ["buy", "Buy"], "reward": [0, 0]}, ends="every-row")
    assert any("action has the labels 'Buy' and 'buy'" in note for note in named.notes)
