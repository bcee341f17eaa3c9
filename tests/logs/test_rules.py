import numpy as np
import pytest

from understudy.errors import LogError
from understudy.logs import Log, check, write


def rules_found(columns, **changes):
    audit = check(Log.from_columns(**{**columns, **changes}))
    return {(finding.severity, finding.rule) for finding in audit.findings if finding.severity != "note"}


def changed(column, rows, value):
    column = np.array(column)
    column[rows] = value
    return column


def last_rows(columns):
    return Log.from_columns(**columns).starts[1:] - 1


def test_a_clean_log_has_notes_at_most(walk):
    for seed in range(200):
        assert rules_found(walk(seed=seed)) == set()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["reward", "observation", "next_observation", "propensity"])
def test_missing(clean, name, value):
    column = changed(clean[name].astype(float), 5, value)
    audit = check({**clean, name: column})
    finding = audit.findings[0]
    assert (finding.rule, finding.rows, finding.count) == ("missing", (5,), 1)
    assert name in finding.sentence


@pytest.mark.parametrize("value", [-1, 3])
def test_action_range(clean, value):
    assert ("error", "action-range") in rules_found(clean, action=changed(clean["action"], 3, value))


@pytest.mark.parametrize("row", [[-0.2, 0.6, 0.6], [1.4, -0.2, -0.2]])
def test_propensity_range(clean, row):
    found = rules_found(clean, propensity=changed(clean["propensity"], 3, row))
    assert ("error", "propensity-range") in found
    assert ("error", "propensity-sum") not in found


@pytest.mark.parametrize("value", [-0.1, 1.1])
def test_propensity_range_of_the_chosen_action(clean, value):
    chosen = clean["propensity"][np.arange(len(clean["action"])), clean["action"]]
    assert ("error", "propensity-range") in rules_found(clean, propensity=changed(chosen, 3, value))


@pytest.mark.parametrize(("off", "wrong"), [(9e-6, False), (2e-5, True)])
def test_propensity_sum(clean, off, wrong):
    p = clean["propensity"].copy()
    p[4] *= 1 + off
    assert (("error", "propensity-sum") in rules_found(clean, propensity=p)) == wrong


def test_float32_propensities_sum_well_enough(clean):
    assert rules_found(clean, propensity=clean["propensity"].astype(np.float32)) == set()


def test_propensity_zero(clean):
    row = np.full(3, 0.5)
    row[clean["action"][4]] = 0
    assert rules_found(clean, propensity=changed(clean["propensity"], 4, row)) == {("error", "propensity-zero")}


def test_propensity_zero_of_the_chosen_action(clean):
    p = changed(np.full(len(clean["action"]), 0.5), 4, 0)
    assert ("error", "propensity-zero") in rules_found(clean, propensity=p)


def test_episode_contiguity(clean):
    apart = changed(clean["episode"], slice(-5, None), 0)
    assert ("error", "episode-contiguity") in rules_found(clean, episode=apart)


def visits(order, given=()):
    """Forty visits of three rows, with what was given beside the necessary."""
    columns = {
        "observation": np.tile([0, 1, 2], 40),
        "action": np.arange(120) % 2,
        "reward": np.zeros(120),
        "episode": np.repeat(np.arange(40), 3),
        "terminated": np.tile([False, False, True], 40),
        "step": np.tile([0, 1, 2], 40),
        "next_observation": np.tile([1, 2, 3], 40),
    }
    needed = ("observation", "action", "reward", "episode", "terminated", *given)
    return {name: columns[name][order] for name in needed}


INTERLEAVED = {
    "row by row": np.arange(120).reshape(40, 3).T.ravel(),
    "a row between": np.concatenate([[0, 3, 1, 2, 4, 5], np.arange(6, 120)]),
}


@pytest.mark.parametrize("order", INTERLEAVED.values(), ids=INTERLEAVED)
def test_interleaved_episodes_are_one_finding_where_the_rest_was_derived(order):
    audit = check(visits(order))
    assert [finding.rule for finding in audit.findings if finding.severity == "error"] == ["episode-contiguity"]
    rules = {finding.rule for finding in audit.findings}
    assert rules <= {"episode-contiguity", "no-propensity", "no-next-observation"}
    assert audit.n_rows == 120  # none is dropped, so that row numbers are those of the file
    with pytest.raises(LogError, match="goes on in row"):
        Log.from_columns(**visits(order)).sound()


def test_wrong_steps_and_next_observations_that_were_given_are_found_all_the_same():
    order = np.concatenate([[1, 0, 3, 2], np.arange(4, 120)])
    found = rules_found(visits(order, ("step", "next_observation")))
    assert {rule for _, rule in found} >= {"episode-contiguity", "step-order", "next-observation-continuity"}


def test_ids_need_not_rise(clean):
    assert rules_found(clean, episode=1000 - clean["episode"]) == set()


def test_step_order_backwards(clean):
    assert rules_found(clean, step=changed(clean["step"], 2, 1)) == {("error", "step-order"), ("warning", "step-order")}


def test_step_order_with_gaps_and_late_starts(clean):
    assert rules_found(clean, step=2 * clean["step"]) == {("warning", "step-order")}
    late = clean["step"] + 3 * (clean["episode"] == 2)
    assert rules_found(clean, step=late) == {("warning", "step-order")}


def test_steps_may_count_from_one(clean):
    assert rules_found(clean, step=clean["step"] + 1) == set()


@pytest.mark.parametrize("name", ["terminated", "truncated"])
def test_end_inside(clean, name):
    assert rules_found(clean, **{name: changed(clean[name], 0, True)}) == {("error", "end-inside")}


@pytest.mark.parametrize("shape", [(), (3,)])
def test_next_observation_is_reset_where_truncated(walk, shape):
    columns = walk(episodes=120)
    spread = {name: np.multiply.outer(columns[name], np.ones(shape)) for name in ("observation", "next_observation")}
    last = last_rows(columns)[:-1]
    assert rules_found({**columns, **spread}) == set()
    spread["next_observation"][last] = spread["observation"][last + 1]
    found = rules_found({**columns, **spread})
    assert found == {("error", "next-observation-is-reset"), ("warning", "next-observation-is-reset")}


def test_next_observation_is_reset_where_only_terminated(walk):
    columns = walk(episodes=120)
    last = last_rows(columns)[:-1]
    last = last[columns["terminated"][last]]
    columns["next_observation"][last] = columns["observation"][last + 1]
    assert rules_found(columns) == {("warning", "next-observation-is-reset")}


def test_shifted_observations_are_found_in_episodes_that_just_stop(walk):
    columns = walk(episodes=120)
    shifted = np.roll(columns["observation"], -1)
    never = np.zeros(len(shifted), bool)
    found = rules_found(columns, next_observation=shifted, terminated=never, truncated=never)
    assert ("error", "next-observation-is-reset") in found


def test_openings_that_are_common_are_no_resets():
    n, ends = 400, np.arange(1, 401) % 4 == 0
    bandit = {"observation": np.zeros(n, int), "next_observation": np.zeros(n, int), "truncated": ends}
    assert rules_found({"action": np.arange(n) % 2, "reward": np.zeros(n), **bandit}) == {("warning", "no-propensity")}


def test_one_step_episodes_tell_nothing_of_resets():
    n = 400
    columns = {"observation": np.arange(n), "next_observation": np.arange(n) + 1, "truncated": np.ones(n, bool)}
    found = rules_found({"action": np.arange(n) % 2, "reward": np.zeros(n), **columns})
    assert found == {("warning", "no-propensity"), ("warning", "distinct-observations")}


def test_next_observation_continuity(clean):
    following = changed(clean["next_observation"], 0, 99)
    assert rules_found(clean, next_observation=following) == {("warning", "next-observation-continuity")}


def test_images_are_compared_in_blocks(clean, monkeypatch):
    monkeypatch.setattr("understudy.logs.rules.BLOCK", 64)
    images = {name: np.multiply.outer(clean[name], np.ones((2, 3), np.uint8)) for name in ("observation",)}
    images["next_observation"] = np.multiply.outer(clean["next_observation"], np.ones((2, 3), np.uint8))
    assert rules_found({**clean, **images}) == set()
    images["next_observation"][[0, 40], 1, 2] = 99
    finding = check({**clean, **images}).findings[0]
    assert (finding.rule, finding.rows) == ("next-observation-continuity", (0, 40))


def test_both_ends(clean):
    both = clean["truncated"] | clean["terminated"]
    assert rules_found(clean, truncated=both) == {("warning", "both-ends")}


def test_no_propensity_names_qbe(clean):
    del clean["propensity"]
    assert "use qbe" in check(clean).findings[0].sentence
    assert rules_found(clean) == {("warning", "no-propensity")}


def test_chosen_propensity_names_qbe(clean):
    chosen = clean["propensity"][np.arange(len(clean["action"])), clean["action"]]
    assert rules_found(clean, propensity=chosen) == {("warning", "chosen-propensity")}


def test_action_never_logged(clean):
    del clean["propensity"]
    audit = check({**clean, "n_actions": 9})
    finding = next(finding for finding in audit.findings if finding.rule == "action-never-logged")
    assert finding.count == 6
    assert "(3, 4, 5, 6, 7, ...)" in finding.sentence


def distinct(observation, **changes):
    n = len(observation)
    log = Log.from_columns(
        observation=observation, next_observation=observation, action=np.arange(n) % 2, reward=np.zeros(n), **changes
    )
    return [finding for finding in check(log).findings if finding.rule == "distinct-observations"]


def test_observations_that_never_recur_are_a_warning(monkeypatch):
    observation = np.random.default_rng(0).random((1000, 2))
    assert distinct(observation)[0].severity == "warning"
    assert distinct(observation)[0].sentence.startswith("1,000 of 1,000 observations are distinct, and 1,000 occur")
    monkeypatch.setattr("understudy.logs.rules.SAMPLE", 500)
    assert distinct(observation)[0].sentence.startswith("in a sample of rows, 500 of 500 observations")


def test_observations_that_seldom_recur_are_a_note():
    finding = distinct(np.maximum(np.arange(1000), 300))[0]
    assert (finding.severity, finding.count) == ("note", 699)


@pytest.mark.parametrize("observation", [np.arange(1000) // 2, np.maximum(np.arange(1000), 600), np.arange(99)])
def test_observations_that_recur_or_are_few_are_not_found(observation):
    assert distinct(observation) == []


def notes_of(columns):
    return [finding.rule for finding in check(columns).findings if finding.severity == "note"]


def test_unfinished_episodes_are_noted(clean):
    never = np.zeros(len(clean["action"]), bool)
    assert notes_of(clean) == []
    assert notes_of({**clean, "truncated": never}) == ["unfinished"]


def test_what_was_derived_or_dropped_is_noted():
    bare = {"observation": [0, 1, 2, 3], "action": [0, 1, 0, 1], "reward": [0, 0, 0, 0]}
    assert notes_of(bare) == ["unfinished", "one-episode", "no-next-observation", "dropped"]


def test_rows_that_nothing_divides_into_episodes_are_a_warning_that_gives_the_choice(tmp_path):
    bare = {"observation": [0, 1, 2, 3], "action": [0, 1, 0, 1], "reward": [0, 0, 0, 0]}
    assert ("warning", "no-episode") in rules_found(bare)
    sentence = next(finding.sentence for finding in check(bare).findings if finding.rule == "no-episode")
    assert 'ends="unfinished"' in sentence
    assert 'ends="every-row"' in sentence
    assert ("warning", "no-episode") not in rules_found(bare, ends="unfinished")
    assert ("warning", "no-episode") not in rules_found(bare, ends="every-row")
    write(Log.from_columns(**bare), tmp_path / "log.parquet")
    assert "no-episode" in {finding.rule for finding in check(tmp_path / "log.parquet").findings}


def test_episodes_derived_from_ends_are_said_not_to_overlap(clean):
    del clean["episode"]
    assert "assumes that episodes do not overlap in the file" in check(clean).findings[0].sentence


def test_simulators_are_refused_what_check_calls_an_error(clean):
    clean["truncated"][0] = True
    log = Log.from_columns(**clean)
    with pytest.raises(LogError) as refused:
        log.sound()
    assert str(refused.value) == check(log).findings[0].sentence
    assert refused.value.rule == "end-inside"


def test_warnings_do_not_make_a_log_unsound(clean):
    del clean["propensity"]
    log = Log.from_columns(**{**clean, "truncated": clean["truncated"] | clean["terminated"]})
    assert check(log).ok
    log.sound()


@pytest.mark.parametrize(("episodes", "warned"), [(1, True), (19, True), (20, False)])
def test_few_episodes_are_warned_of_where_some_ended(episodes, warned):
    lengths = 3 * episodes
    ends = np.arange(lengths) % 3 == 2
    log = Log.from_columns(
        observation=np.zeros(lengths, int), action=np.zeros(lengths, int), reward=np.zeros(lengths),
        next_observation=np.zeros(lengths, int), terminated=ends,
    )  # fmt: skip
    found = [finding for finding in check(log).findings if finding.rule == "few-episodes"]
    assert bool(found) == warned
    assert all(finding.severity == "warning" for finding in found)


def test_a_log_in_which_nothing_ends_has_no_ends_to_miss():
    rows = np.zeros(30, int)
    log = Log.from_columns(
        observation=rows, action=rows, reward=rows, next_observation=rows, terminated=rows.astype(bool)
    )
    assert "few-episodes" not in [finding.rule for finding in check(log).findings]


def sentence_of(rule, columns):
    return next(finding.sentence for finding in check(columns).findings if finding.rule == rule)


NUMBERED = {"observation": np.zeros(8, int), "reward": np.zeros(8), "action": [0, 5, 10, 15] * 2, "ends": "every-row"}


def test_numbers_with_gaps_are_advised_as_labels():
    labels = 'the column holds 0, 5, 10, 15: if these are the actions, say actions=["0", "5", "10", "15"]'
    outside = sentence_of("action-range", {**NUMBERED, "propensity": np.full((8, 4), 0.25)})
    assert f"{labels}, all 4 of them in the order of the propensity columns" in outside
    assert labels in sentence_of("action-never-logged", NUMBERED)
    assert check({**NUMBERED, "actions": ["0", "5", "10", "15"]}).n_actions == 4
    assert "holds" not in sentence_of("action-never-logged", {**NUMBERED, "action": [0, 1, 3, 4] * 2})
    assert "holds" not in sentence_of("action-never-logged", {**NUMBERED, "n_actions": 40})


def test_one_step_decisions_are_one_note_of_next_observations(clean):
    notes = [finding.sentence for finding in check(NUMBERED).findings if finding.rule == "no-next-observation"]
    assert notes == ["8 terminated rows have none, and show their own observation"]
    told = {**NUMBERED, "ends": None, "terminated": [True] * 8}
    assert notes_of(told) == ["no-next-observation"]
    one = {name: column[:1] for name, column in clean.items() if name not in ("episode", "next_observation")}
    one |= {"terminated": [True], "truncated": [False]}
    assert "1 terminated row has none, and shows its own observation" in sentence_of("no-next-observation", one)
    assert str(check(one)).startswith("1 row, 1 episode, 3 actions")
    assert repr(Log.from_columns(**one)).startswith("Log of 1 row, 1 episode, 3 actions")


def test_a_missing_observation_is_said_once():
    columns = {"observation": [0.0, np.nan, 2.0, 3.0, 4.0, 5.0], "action": [0] * 6, "reward": [0.0] * 6}
    columns["terminated"] = [False, False, True] * 2
    assert [finding.rule for finding in check(columns).findings].count("missing") == 1
    dropped = {
        **columns,
        "observation": [0.0, 1.0, 2.0, 3.0, 4.0, np.nan],
        "terminated": [False, False, True] + [False] * 3,
    }
    assert "next_observation is NaN" in sentence_of("missing", dropped)


@pytest.mark.parametrize(
    ("p", "words"),
    [([[30.0, 70.0]] * 8, "percentages"), ([30.0, 0.5] * 4, "percentages"), ([[-0.5, -1.2]] * 8, "logarithms")],
)
def test_propensities_in_other_units_are_guessed(p, words):
    columns = {**NUMBERED, "action": [0, 1] * 4, "propensity": p}
    assert f"(are they {words}?)" in sentence_of("propensity-range", columns)
    assert "are they" not in sentence_of("propensity-range", {**columns, "propensity": [[-0.5, 1.5]] * 8})


def test_episodes_that_stop_at_one_length_seem_to_have_met_a_time_limit():
    episode = np.repeat([0, 1, 2], [5, 5, 3])
    terminated = np.arange(13) == 12
    columns = {"observation": np.arange(13), "action": [0] * 13, "reward": [0.0] * 13, "episode": episode}
    following = {"next_observation": np.arange(13) + 1}
    for given in ({}, following):
        told = sentence_of("unfinished", {**columns, **given, "terminated": terminated})
        assert "All of these have 5 steps, and no episode has more: a time limit" in told
        assert "set truncated= there" in told
        said = sentence_of("unfinished", {**columns, **given, "ends": "unfinished"})
        assert "truncated=" not in said
        assert "time limit" not in said
    other = sentence_of("unfinished", {**columns, "episode": np.repeat([0, 1, 2], [6, 4, 3]), "terminated": terminated})
    assert "All of these" not in other


def test_steps_that_are_dates_are_to_be_sorted_by(clean):
    dates = np.arange(len(clean["step"])).astype("M8[s]")
    assert "sort the rows by it with order_by=" in check({**clean, "step": dates}).findings[0].sentence
