"""The words of a page, each explained in a few sentences that fold out where the word is used."""

WORDS = {
    "Logging policy": (
        "What chose the actions while the log was recorded. A learner is worth deploying where it earns more than "
        "that; what the log's own episodes earned tells how much that is."
    ),
    "Run": (
        "One rehearsal of the learner from its first step on: it acts, learns from what the log answers, and acts "
        "again, until the log has no answer left. Runs differ by chance, as deployments would."
    ),
    "Believable up to": (
        "The trusted horizon: the step up to which random halves of the log give the same answer as the whole, on "
        "average. “Give or take” is what the luck of this log may have done up to there: the largest half width of "
        "the interval. It holds if nothing else is wrong: audit, states and self-check test that. It does not see "
        "errors that half a log and a whole one share. docs/trust.md says how often each of these answers is right."
    ),
    "Luck of the log": (
        "All runs replay one log, so they share what it happens to hold, however many they are; in an A/B test, it "
        "is as if all days of the test had the same customers. A half of the log differs from the whole about as "
        "much as the whole differs from the truth."
    ),
    "Start value": (
        "What the learner itself expects to earn from the opening of an episode on, discounted: its belief, as it "
        "grows, not what it earned. A learner that learns fast, or hopes for much, has a high one."
    ),
    "Band": (
        "Of the mean: where the mean over many runs, and on other logs like this one, lies with a probability of "
        "95%. Of runs: where eight of ten single runs are. The first gets narrower with more runs and more log; the "
        "second does not, and tells what one deployment may look like."
    ),
    "Return": (
        "The sum of the rewards of an episode, not discounted. It is compared over the same first episodes of every "
        "run: runs stop for reasons that depend on what they earned, so the episodes that happened to be finished "
        "are not a fair choice."
    ),
    "PSRS, QBE, replay": (
        "How rows of the log are served to the learner. psrs compares the learner's policy with the logged "
        "propensities and passes rows over, so that what it serves is what the learner would have met; qbe serves a "
        "row of the action that the learner chooses, and needs no propensities; replay offers whole episodes, each "
        "with its own observations. All are exact for as long as they answer, if the states tell what follows."
    ),
    "Efficiency": (
        "How many steps the log could answer before it had no row left to serve: the longer, the more of the "
        "learning is seen. It says nothing about whether the answers were right. “Nine of ten reached” is the step "
        "that nine of ten runs got to; “rows looked at per step” counts those that were passed over, too."
    ),
    "Exact up to": (
        "The step up to which nine of ten runs were served unused rows of the states themselves, with no episode "
        "cut: as far as that, runs are exact. Halves of the log do not show all that lower rungs do to a curve, so "
        "the trusted horizon goes no further unless us.beyond found that it may. Beyond it, steps may come from "
        "states alike, which smooths, or be served again, which lets a learner exploit noise that it has met before; "
        "where episodes are cut, the chance of anything that happens in one is off by at most the share of cut ones, "
        "and what an episode earned is that of the others only."
    ),
    "Forecast": (
        "How long the log was expected to answer, from a few short runs made before with seeds of their own. Where "
        "forecast and outcome differ much, the learner met something that the short runs did not."
    ),
    "IPS, SNIPS, DM, DR": (
        "Off-policy estimates answer for a policy that stays as it is; the curve, for a learner that goes on "
        "learning. IPS weighs each logged reward by how much likelier the policy was to earn it than the logger; "
        "SNIPS divides by the sum of these weights; DM is a model of rewards; DR is that model, corrected by the "
        "weighted rewards. Look at DR first."
    ),
    "State": (
        "What runs go on from: a number that stands for one or several observations. Rows of one state may stand in "
        "for each other, which is right only if these observations lead on alike."
    ),
    "Fidelity": (
        "How close the simulated mean curve is to the one of the reference. A simulator is worth using when it is "
        "both faithful and efficient; a baseline can last long and be wrong."
    ),
    "Own horizon": (
        "The largest step that every run of the set reached. Beyond it some runs have stopped, for reasons that "
        "depend on what happened in them, so the mean of the others is biased. Errors are comparable only up to the "
        "same step, so each table's first columns are up to one step for all sets."
    ),
    "Floor": (
        "RMSE is never 0, since both curves are means of finitely many runs. The floor is about what a perfect "
        "simulator would show from the spread of runs alone. On one log, add the luck of that log, which the floor "
        "does not know; the interval of the verdict does."
    ),
    "Verdict": (
        "“Equivalent” means that the whole interval of the error, noise taken off, lies below the margin; "
        "“different”, above it; “undecided”, that there were too few runs to tell. Runs on one log share its luck, "
        "which cannot be told from a bias: there is a verdict on them only where halves of the log show how large "
        "that luck is."
    ),
}


def explained(*words: str) -> list[tuple[str, str]]:
    """Return these words with what they mean; empty words are left out.

    >>> [word for word, _ in explained("Run", "", "Return")]
    ['Run', 'Return']
    """
    return [(word, WORDS[word]) for word in words if word]
