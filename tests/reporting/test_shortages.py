from dataclasses import replace

from understudy.contracts import Stop
from understudy.reporting.shortages import shortage, shortage_sentences


def stopped(runs, *stops):
    return replace(runs, runs=tuple(replace(run, stopped=stop) for run, stop in zip(runs, stops, strict=True)))


def test_what_to_log_more_of_is_told_by_columns_labels_and_values(runs_of):
    there = Stop("queue empty for action", state=94, place="page=3", action=1, label="b", column="arm")
    runs = stopped(runs_of([40] * 3), there, there, Stop("queue empty", state=5, place="page=home, device=phone"))
    (sentence,) = shortage_sentences({"psrs": runs})
    assert sentence == (
        "Log more of what ran out first: page=3, arm=b (2 of 3 runs); page=home, device=phone (1 of 3 runs)."
    )


def test_several_sets_are_named_and_many_places_counted(runs_of, real_of):
    stops = [Stop("queue empty", state=n, place=f"x={n}") for n in range(6)]
    sets = {"a": stopped(runs_of([40] * 6), *stops), "real": real_of([90] * 3)}
    (sentence,) = shortage_sentences(sets)
    assert sentence.startswith("For “a”, log more of")
    assert sentence.endswith("; and 2 others.")
    (sentence,) = shortage_sentences({"a": stopped(runs_of([40] * 5), *stops[:5])})
    assert sentence.endswith("; and 1 other.")


def test_of_what_was_never_acted_from_more_of_the_same_log_is_not_advised(runs_of):
    (sentence,) = shortage_sentences({"a": stopped(runs_of([40]), Stop("never logged", state=5, place="turns=5"))})
    assert sentence.startswith("Log what is done after turns=5 (1 of 1 runs): ")
    assert sentence.endswith("more of the same log may not help.")


def test_runs_that_the_log_did_not_stop_lack_nothing(runs_of):
    assert shortage_sentences({"a": stopped(runs_of([40]), Stop("max steps"))}) == []
    assert shortage_sentences({"baseline": runs_of([40], simulator={"simulator": "any_row"})}) == []
    assert shortage(Stop("no opening")) == "episodes, all of whose openings were used"


def test_a_state_of_several_observations_is_told_by_one_of_them():
    stop = Stop("queue empty for action", state=7, example="x=0.12, v=-0.4", action=2, column="arm")
    assert shortage(stop) == "x=0.12, v=-0.4 (and others like it), arm=2"


def test_why_few_rows_were_served_is_told_where_whole_episodes_were_passed_over(runs_of):
    ended = stopped(runs_of([40] * 3), *[Stop("used up")] * 3)
    assert len(shortage_sentences({"replay": ended})) == 1
    counted = (replace(run, stopped=Stop("used up", counts={"rows taken": 400})) for run in ended)
    passed = replace(
        ended, runs=tuple(counted), about=replace(ended.about, log_rows=400, simulator={"simulator": "replay"})
    )
    more, why = shortage_sentences({"replay": passed})
    assert more.startswith("Log more of what ran out first: episodes, all of which were offered")
    assert why.startswith("One row in 10.0 was served: as many as the smallest probability")
