import numpy as np
import pytest

from tests.logs.rules.columns import changed, rules_found
from understudy.errors import LogError
from understudy.logs import Log, check, concatenate, write


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
    with pytest.raises(LogError, match="goes on after another began, in row"):
        Log.from_columns(**visits(order)).require_no_errors()


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


def test_both_ends(clean):
    both = clean["truncated"] | clean["terminated"]
    assert rules_found(clean, truncated=both) == {("warning", "both-ends")}


def notes_of(columns):
    return [finding.rule for finding in check(columns).findings if finding.severity == "note"]


def test_unfinished_episodes_are_noted(clean):
    never = np.zeros(len(clean["action"]), bool)
    assert notes_of(clean) == []
    last = clean["truncated"] & (np.arange(len(never)) == np.flatnonzero(clean["truncated"])[-1])
    assert notes_of({**clean, "truncated": clean["truncated"] & ~last}) == ["unfinished"]
    assert rules_found(clean, truncated=never) == {("doubt", "unmarked-limit")}


def recorded(rng, limit=None, lost=0.0):
    """Columns of 300 episodes that end with a probability of .1 a step: at most `limit` steps, not marked, and a share
    of them lost from a random step on."""
    lengths = rng.geometric(0.1, size=300)
    kept = np.where(rng.random(300) < lost, rng.integers(1, lengths + 1), lengths)
    kept = kept if limit is None else np.minimum(kept, limit)
    episode = np.repeat(np.arange(300), kept)
    last = np.append(episode[1:] != episode[:-1], True)
    n = len(episode)
    whole = np.repeat(kept == lengths, kept)
    return {
        "observation": np.zeros(n, int), "next_observation": np.zeros(n, int), "action": np.zeros(n, int),
        "reward": np.zeros(n), "episode": episode, "terminated": last & whole,
    }  # fmt: skip


def test_a_time_limit_that_is_not_marked_is_a_doubt_and_recordings_that_were_lost_are_not():
    """Of 50 limits that a tenth of episodes meet all are found, and of those that one in forty meets 45 or more (a log
    in 200 has less than two such episodes); none is found where parts of logs were lost (by the rate, 1 of 10,000)."""
    rng = np.random.default_rng(0)
    found = [
        [("doubt", "unmarked-limit") in rules_found(recorded(rng, **how)) for _ in range(50)]
        for how in ({"limit": 20}, {"limit": 35}, {"lost": 0.1}, {"lost": 0.01}, {})
    ]
    assert sum(found[0]) == 50
    assert sum(found[1]) >= 45
    assert not any(map(any, found[2:]))


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


@pytest.mark.parametrize(
    ("lengths", "given", "warned"),
    [
        ([48] * 20, {"ends": "terminated"}, True),
        ([48] * 20, {"ends": "truncated"}, False),
        ([48] * 20, {"ends": "unfinished"}, False),
        ([48] * 19 + [47], {"ends": "terminated"}, False),
        ([48] * 19, {"ends": "terminated"}, False),  # too few to tell
        ([1] * 40, {"ends": "terminated"}, False),  # decisions by themselves
    ],
)
def test_terminated_episodes_of_one_length_seem_to_have_been_cut_off_by_a_clock(lengths, given, warned):
    episode = np.repeat(np.arange(len(lengths)), lengths)
    observation = np.arange(len(episode)) % 7
    log = Log.from_columns(
        observation=observation, action=observation % 2, reward=observation, episode=episode, **given
    )  # fmt: skip
    found = [one for one in check(log).findings if one.rule == "equal-lengths"]
    assert [one.severity for one in found] == ["warning"] * warned
    if warned:
        assert found[0].sentence.startswith("all 20 episodes have 48 rows and are said to have terminated")
        assert "say truncated" in found[0].sentence


def chats(rng, hazard, n=20_000):
    """Columns of episodes that end with a probability of .2 a step, whose recording stops with another after each."""
    lengths, recorded = rng.geometric(0.2, n), rng.geometric(hazard, n) if hazard else np.full(n, 10**6)
    kept = np.minimum(lengths, recorded)
    episode = np.repeat(np.arange(n), kept)
    last = np.append(episode[1:] != episode[:-1], True)
    nothing = np.zeros(len(episode), int)
    return {
        "observation": nothing, "action": nothing, "reward": nothing + 1.0, "episode": episode,
        "terminated": last & np.repeat(kept == lengths, kept),
    }  # fmt: skip


@pytest.mark.parametrize(("hazard", "severity"), [(0.05, "doubt"), (0.01, "warning"), (0.0, None)])
def test_recordings_that_stop_within_episodes_make_ends_too_frequent(hazard, severity):
    """Of rows that did not end their episode a share is gone: ends are more frequent than the .2 that they are."""
    log = Log.from_columns(**chats(np.random.default_rng(0), hazard))
    found = [one for one in check(log).findings if one.rule in ("ends-too-frequent", "ends-more-frequent")]
    assert [one.severity for one in found] == [severity] * (severity is not None)
    error = 0.4 / np.sqrt(len(log))
    assert (log.terminated.mean() > 0.2 + 4 * error) == (severity == "doubt")  # four standard errors: 1 of 30,000
    if severity == "doubt":
        # With next observations the rows stay, and ends are as frequent as they are.
        columns = chats(np.random.default_rng(0), hazard)
        whole = Log.from_columns(**columns, next_observation=np.zeros(len(columns["action"]), int))
        assert abs(whole.terminated.mean() - 0.2) < 4 * error
        assert not [one for one in check(whole).findings if one.rule == "ends-too-frequent"]


@pytest.mark.parametrize("told", [{}, {"ends": "truncated"}, {"ends": "unfinished"}])
def test_to_say_how_recordings_stopped_brings_no_row_back(told):
    """Called truncated, their last rows are dropped as well: they have various lengths, so that no limit cut them off.
    Episodes of a single row are counted, and a file of the log and a joined log say it, too."""
    columns = chats(np.random.default_rng(0), 0.05)
    log = Log.from_columns(**columns, **told)
    _, last = np.unique(columns["episode"][::-1], return_index=True)
    n_lost = np.count_nonzero(~columns["terminated"][len(columns["terminated"]) - 1 - last])
    for one in (log, log.select(range(0, log.n_episodes, 2)), concatenate([log, log])):
        (found,) = (found for found in check(one).findings if found.rule == "ends-too-frequent")
        assert found.severity == "doubt"
        assert found.sentence.startswith(f"{n_lost:,} of 20,000 episodes were cut off at various lengths")


def test_a_limit_that_cuts_episodes_off_is_no_loss():
    rng = np.random.default_rng(0)
    lengths = np.minimum(rng.geometric(0.2, 5000), 6)
    episode = np.repeat(np.arange(5000), lengths)
    last = np.append(episode[1:] != episode[:-1], True)
    nothing, known = np.zeros(len(episode), int), np.repeat(lengths < 6, lengths)
    columns = {"observation": nothing, "action": nothing, "reward": nothing, "episode": episode}
    log = Log.from_columns(**columns, terminated=last & known, ends="truncated")
    assert not any("frequent" in note for note in log.notes)
    log = Log.from_columns(**columns, terminated=last & known)  # nobody says that it was a limit
    (found,) = (one for one in check(log).findings if one.rule == "ends-too-frequent")
    assert " episodes were cut off after 6 steps, as long as any, " in found.sentence
    assert 'if a time limit ended them, say ends="truncated"; else log next_observation' in found.sentence


def test_the_end_of_one_recording_is_not_said_to_be_a_loss(clean):
    columns = {name: column for name, column in clean.items() if name != "next_observation"}
    last = np.zeros(len(clean["action"]), bool)
    last[-1] = True
    cut = {**columns, "terminated": clean["terminated"] & ~last, "truncated": clean["truncated"] & ~last}
    assert not any("frequent" in rule for _, rule in rules_found(cut))


def test_rows_before_a_gap_lead_to_observations_that_did_not_follow(clean):
    columns = {name: column for name, column in clean.items() if name != "next_observation"}
    inside = np.append(clean["episode"][1:] == clean["episode"][:-1], False) & (clean["step"] > 0)
    lost = inside & (np.arange(len(inside)) % 20 == 7)
    without = {name: column[~lost] for name, column in columns.items()}
    assert ("doubt", "step-order") in rules_found(without)
    given = {name: column[~lost] for name, column in clean.items()}  # with next observations only the gap is told
    assert ("warning", "step-order") in rules_found(given)


def test_where_few_of_the_open_episodes_are_as_long_as_the_longest_the_others_are_asked_for():
    """Ends of one kind were not named, and a limit of 12 was not marked: 8 of 10 ends are missing."""
    rng = np.random.default_rng(0)
    lengths = np.minimum(rng.geometric(0.2, 2000), 12)
    episode = np.repeat(np.arange(2000), lengths)
    last = np.append(episode[1:] != episode[:-1], True)
    nothing = np.zeros(len(episode), int)
    known = np.repeat((rng.random(2000) < 0.7) & (lengths < 12), lengths)
    columns = {"observation": nothing, "action": nothing, "reward": nothing, "episode": episode}
    audit = check(Log.from_columns(**columns, terminated=last & known))
    found = next(one for one in audit.findings if one.rule == "unmarked-limit")
    assert "set truncated= for these; the others ended in another way" in found.sentence
