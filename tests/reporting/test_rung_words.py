import pytest

from understudy.evaluation import rung_use
from understudy.reporting.rung_words import agreed, believed, evidence_sentences, ladder_blocks, rung_sentences
from understudy.trust import Beyond
from understudy.trust.evidence import Evidence


@pytest.fixture
def found(runs_of):
    evidence = (
        Evidence("halves of the log", 80, "then they differ"),
        Evidence("episodes cut", 60, "then too many"),
    )
    return Beyond(60, 40, 100, 0.3, "g", evidence, runs_of([100]), ("like", "cut"))


def test_sentences_have_names_where_there_are_several_sets(runs_of, on_ladder):
    use = {"a": rung_use(on_ladder(runs_of([100]), {50: 1}))}
    assert rung_sentences(use, named=False) == [use["a"].sentence]
    assert rung_sentences(use, named=True) == [f"“a”: {use['a'].sentence}"]


def test_evidence_is_told_piece_by_piece_and_of_several_sets_what_follows_too(found):
    alone = evidence_sentences({"a": found}, named=False)
    assert alone == ["Halves of the log: to step 80, then they differ.", "Episodes cut: to step 60, then too many."]
    named = evidence_sentences({"a": found}, named=True)
    assert named[0] == f"“a”: {found.sentence}."
    assert named[1:] == [f"“a”: {one}." for one in found.evidence]


def test_a_title_is_the_sentence_of_one_set_or_the_steps_of_several(found):
    assert believed({"a": found}, {}, named=False).startswith("Believe 'g' up to step 60, 1.5 times the 40 steps that")
    title = believed({"a": found}, {"b": 1000, "nothing": 0}, named=True)
    assert title == "Believable up to step 60 (“a”); 1,000 (“b”)"
    many = believed({"a": found}, dict.fromkeys("bcd", 5), named=True)
    assert many.endswith("5 (“c”); ...")


def test_that_halves_agree_past_the_exact_step_is_said_as_such(found):
    assert agreed({"a": 0}, "60", named=False) == "Exact up to step 0; halves of the log agree up to step 60"
    assert agreed({"a": 40}, "60 (“a”)", named=True).startswith("Exact up to step 40 (“a”); halves")


def test_a_block_of_the_page_has_what_was_noted_what_follows_and_a_table(found):
    notes = {"a": "left out: reuse", "c": "left out: like"}
    one, other = ladder_blocks("abc", {"a": found}, notes, named=True)
    assert one.sentences == ["“a”: left out: reuse.", f"“a”: {found.sentence}."]
    assert [row[:2] for row in one.table.rows] == [("halves of the log", "80"), ("episodes cut", "60")]
    assert (other.sentences, other.table) == (["“c”: left out: like."], None)
    (alone,) = ladder_blocks("a", {"a": found}, {}, named=False)
    assert alone.sentences == [f"B{found.sentence[1:]}."]
