from dataclasses import replace

import numpy as np
import pytest

from understudy.evaluation.intervals import Interval
from understudy.reporting.deployment_words import evidence_of, where_told
from understudy.trust.against_log import AgainstLog
from understudy.trust.deploying import DeployedLearner
from understudy.trust.onsets import Onset

WINDOWS = 4


def interval(mean, half_width, from_runs=0.2):
    mean = np.asarray(mean, dtype=float)
    steps = 100 * np.arange(1, WINDOWS + 1)
    errors = np.full(WINDOWS, from_runs), np.full(WINDOWS, 0.1)
    return Interval(steps, mean, mean - half_width, mean + half_width, 0.95, int(steps[-1]), *errors)


@pytest.fixture
def deployed():
    """A learner that is worse than the log at first, and 1.5 better at last; windows have ten episodes."""
    last = 10 * np.arange(1, WINDOWS + 1)
    against = AgainstLog(
        "psrs", 2000.0, last - 9, last, interval([-1, 0.5, 1.4, 1.6], 0.5), np.full(WINDOWS, 0.4),
        np.array([0.9, 0.4, 0.2, 0.001]), np.zeros(WINDOWS), interval([10, 5, -9, -2500], 40.0),
    )  # fmt: skip
    return DeployedLearner("psrs", against, 1.5, 1.0, 2.0, 21, Onset(1, 1, 2), Onset(1, 1, 2), 100, 0.5)


def test_what_it_earns_from_when_on_how_fast_and_at_what_risk_are_a_sentence_each(deployed):
    assert evidence_of("it", deployed) == [
        "In episodes 21 to 40 (up to step 400), it earns 2,001.50 an episode, 1.50 more than the log, whose episodes "
        "earned 2,000.00: +1.00 to +2.00 with a probability of 95%, the luck of the log included.",
        "It begins to be better between episode 11 (step 100) and episode 21 (step 200) with a probability of 95% (by "
        "the mean over runs, from episode 11 (step 100) on). More runs would narrow this down.",
        "Half of that gain is reached, and kept from then on, between episode 11 (step 100) and episode 21 (step 200) "
        "with a probability of 95% (by the mean over runs, from episode 11 (step 100) on).",
        "By episode 40 deployments have earned 2,500 more in all, on average (+2,460 to +2,540); a single one has "
        "earned less than the logging policy by then with a probability of less than 1%. The least that deployments "
        "earn, on average, is 1.00 less an episode than the log, in episodes 1 to 10.",
    ]


def test_single_decisions_have_no_steps(deployed):
    told = evidence_of("“psrs”", replace(deployed, against=replace(deployed.against, noun="decision")))
    assert all("step" not in sentence and "episode" not in sentence for sentence in told)
    assert told[1].startswith("“psrs” begins to be better between decision 11 and decision 21")


def test_what_narrows_a_range_down_is_what_its_error_is_of(deployed):
    of_log = replace(deployed.against, difference=interval([-1, 0.5, 1.4, 1.6], 0.5, from_runs=0.01))
    told = evidence_of("it", replace(deployed, against=of_log))
    assert told[1].endswith("A longer log would narrow this down.")


def test_of_few_runs_more_are_advised_whatever_the_error_seems_to_be_of(deployed):
    told = evidence_of("it", replace(deployed, n_runs=20))
    assert told[1].endswith("More runs (--runs 100), or a longer log, may narrow this down.")


@pytest.mark.parametrize(
    ("begins", "words"),
    [
        (
            Onset(0, 1, None),
            "From when on it is better is not certain: by the mean over runs, from episode 11 (step 100) on.",
        ),
        (
            Onset(2, None, None),
            "It does not begin to be better before episode 21 (step 200), and this log cannot tell by when",
        ),
        (Onset(2, 2, 2), "It begins to be better at episode 21 (step 200) (by the mean over runs, from episode 21"),
    ],
)
def test_a_range_that_is_open_or_a_point_is_said_to_be(deployed, begins, words):
    assert evidence_of("it", replace(deployed, begins=begins))[1].startswith(words)


def test_what_holds_from_the_first_episode_on_is_in_the_first_sentence_of_the_page_only(deployed):
    told = evidence_of("it", replace(deployed, begins=Onset(0, 0, 0), half_gain=Onset(0, 0, 0)))
    assert not any("begins to be better" in sentence for sentence in told)
    assert told[1] == "At least half of that gain is there from the first episode on."


def test_the_least_of_windows_that_earn_more_is_chance_and_not_told(deployed):
    better = replace(deployed, against=replace(deployed.against, difference=interval([0.3, 0.9, 1.4, 1.6], 0.5)))
    told = evidence_of("it", better)[-1]
    assert told.endswith("No stretch of 10 episodes by itself is shown to earn less than the log.")
    wide = interval([-1.0, -0.9, 1.4, 1.6], np.array([2.0, 0.5, 0.5, 0.5]))  # the least is not told, and another one is
    other = replace(deployed, against=replace(deployed.against, difference=wide))
    assert evidence_of("it", other)[-1].endswith("with a probability of less than 1%.")


def worse(found, means, begins):
    """The same windows of a learner whose later half earns 0.7 less than the log."""
    against = replace(found.against, difference=interval(means, 0.5))
    return replace(found, against=against, mean=-0.7, low=-1.2, high=-0.2, begins=begins, half_gain=None)


@pytest.mark.parametrize("begins", [Onset(0, 0, None), Onset(0, 0, 2)])
def test_a_learner_that_is_worst_at_first_is_not_said_to_be_worse_only_later(deployed, begins):
    found = worse(deployed, [-2.5, -1.5, -0.9, -0.5], begins)
    assert where_told(found) == ", also in its later episodes (21 to 40)"
    said = "In the episodes before, it earns 2.00 less an episode than the log, by the mean over runs."
    assert (said in evidence_of("it", found)) == (begins.latest is None)


def test_a_learner_that_gets_worse_is_said_to_be_so_in_its_later_episodes(deployed):
    means = [0.2, -0.3, -0.6, -0.8]
    single = replace(deployed, against=replace(deployed.against, noun="decision"))
    told = where_told(worse(single, means, Onset(0, 1, None)), "its")
    assert told == " in its later decisions (21 to 40; from when on, its log cannot tell)"
    assert where_told(worse(deployed, means, Onset(1, 1, 3))) == " from step 300 on at the latest"
    assert where_told(worse(single, means, Onset(1, 1, 3))) == " from decision 31 on at the latest"
    at_once = worse(deployed, [-2.5, -1.5, -0.9, -0.5], Onset(0, 0, 0))
    assert where_told(at_once) == " from its first 10 episodes on"


def test_what_begins_after_the_last_window_is_told_by_it(deployed):
    told = evidence_of("it", replace(deployed, begins=Onset(WINDOWS, None, None)))
    assert told[1].startswith("It does not begin to be better before episode 31 (step 300)")


def test_episodes_of_the_log_that_were_cut_off_are_told_where_it_is_compared(deployed):
    told = evidence_of("it", replace(deployed, against=replace(deployed.against, cut_off=93)))
    assert "whose episodes earned 2,000.00 (93 of them were cut off, and count up to there): +1.00" in told[0]


def test_what_makes_an_interval_wider_and_what_it_rests_on_are_told(deployed):
    told = evidence_of("it", replace(deployed, against=replace(deployed.against, cut=0.25, bias=0.5, single=0.42)))
    assert told[0].endswith(
        "the luck of the log included (0.25 of it, to each side, for episodes of the log that were cut off; 0.50 of "
        "it, to each side, for a bound that was exceeded)."
    )
    assert told[1] == (
        "A single episode makes up 42% of the spread of what episodes of the log earned: their mean, and all that is "
        "compared with it, rests on that one."
    )


def test_in_log_order_it_is_told_which_episodes_of_the_log_are_meant(deployed):
    told = evidence_of("it", replace(deployed, against=replace(deployed.against, along=True)))
    assert "earned 2,000.00 (those that runs met by then, in the log's own order): +1.00" in told[0]


def test_the_part_of_the_log_that_a_mean_is_of_is_told_where_it_is_compared(deployed):
    told = evidence_of("it", replace(deployed, against=replace(deployed.against, complete=147)))
    assert "whose episodes earned 2,000.00 (the first 147, before one that is not finished): +1.00" in told[0]
