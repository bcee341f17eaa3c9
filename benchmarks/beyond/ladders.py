"""How far runs on a ladder of rungs are trusted on the panel, and how far off they are within that."""

import numpy as np

import understudy as us
from benchmarks.beyond.problems import PANEL, PROBE, QUIET, sized_cases
from benchmarks.beyond.truth import error_of, margin_of
from understudy.runs.run import reached

LOGS = 3
RUNS = 100
SHARE = 0.9  # of the runs that must reach a step for the runs to do so
cases = sized_cases
FEWER = {"runs": 20, "halves_of_log": 8, "runs_of_half": 10}
"""Of PPO, which trains networks."""

PROTOCOL = f"""
A case is a problem, a size of its log, and the number of the log: 14 problems, three sizes, {LOGS} logs of each. On
each, {RUNS} runs ({FEWER["runs"]} of PPO) of QBE on a ladder, `us.qbe(log, encoder, then=...)`: *like* within the
radius that `us.likeness.audit` finds, if it finds one, *reuse* if it offers that, then *cut*, with defaults for the
rest, so that no setting is chosen by problem. The exact length is the step that nine of ten runs of QBE (with
a plain stop) reach without a ladder. The trusted length is the step up to which `us.beyond` says that the runs can be
believed, at the problem's margin, read in the problem's windows. The true error is the largest difference, over the
whole windows within the trusted length, of the mean curve over the runs and the true curve, in margins; the noise of
the runs and the luck of the log are in it. Where no whole window is trusted there is no error.

**Sound**: in at least 90% of the cases that trust a window the true error is below 1. **Long**: over the cases of
problems in which, by construction, neighbors lead on to neighbors or a state and action hardly vary in what follows,
the median ratio of trusted and exact length is at least 5 (an exact length of 0 counts as 1), and 10 is the aim. The
trusted length is nowhere shorter than the exact one, up to the length of a run. Problems, learners and margins were
set before any run on a ladder. So were sizes and lengths of runs, but for this: in a trial of like rows on two
problems, with logs that are not counted, windows turned out longer than small logs, so that nothing could have been
trusted; runs on small and middle logs were made shorter, and logs of the continuous grids, which exact runs nearly
sufficed for, smaller. Also after a look at such logs: the exact length was the median of lengths, and trusted lengths
are what nine of ten runs reach, so that the two could not be compared; runs were 200; and the evidence of `us.beyond`,
its windows and its limits were chosen there.
"""


def ladder_on(log, encoder):
    """Return QBE on the ladder that the audit of likeness allows on a log, and its rungs."""
    audit = us.likeness.audit(log, encoder)
    like = ("like",) if audit.radius is not None else ()
    then = (*like, *(("reuse",) if audit.reuse else ()), "cut")
    lent = {"likeness": us.likeness.suited(log), "radius": audit.radius} if like else {}
    return us.qbe(log, encoder, then=then, audit=False, **lent), then


def measure(case, number):
    name, size = case
    problem, margin = PANEL[name], margin_of(name)
    counts = FEWER if problem.ppo else {"runs": RUNS}
    log = problem.log(size, number)
    exact = us.qbe(log, problem.world.encoder, stop="plain")
    options = {"runs": counts["runs"], "seed": number, "max_steps": problem.steps[size], **QUIET}
    lengths = us.experiment(exact, problem.make, **options).lengths
    simulator, then = ladder_on(log, problem.world.encoder)
    found = us.beyond(simulator, problem.make, margin=margin, seed=number, **counts, **problem.reading(size))
    steps, window = found.steps, problem.window(size)
    length, mean = found.longest, np.empty(0)
    if length >= window:
        mean = np.nanmean(found.runs.curve(PROBE)[1][:, : length // window], axis=0)
    return {
        "exact": int(reached(lengths, SHARE)),
        "rungs": list(then),
        "length": length,
        "trusted": steps,
        "why": found.sentence,
        "evidence": {one.name: one.steps for one in found.evidence},
        "curve": mean.tolist(),
        "error": error_of(name, size, mean[: steps // window]),
    }


def table(results):
    head = "| problem | episodes | rungs | exact | trusted | ratio | run reaches | error, margins | sound |"
    lines, given = [head, "|---|--:|---|--:|--:|--:|--:|--:|--:|"], cases()
    errors, ratios, shorter = [], [], 0
    for case, found in results.items():
        name, size = given[case]
        problem = PANEL[name]
        ratio = [log["trusted"] / max(log["exact"], 1) for log in found]
        off = [log["error"] for log in found if np.isfinite(log["error"])]
        errors, ratios = errors + off, ratios + ratio * bool(problem.gain)
        shorter += sum(log["trusted"] < min(log["exact"], problem.steps[size]) for log in found)
        rungs = " ".join(dict.fromkeys(rung for log in found for rung in log["rungs"]))
        middle = [f"{np.median([log[key] for log in found]):,.0f}" for key in ("exact", "trusted", "length")]
        cells = [name, f"{problem.sizes[size]:,}", rungs, *middle[:2], f"{np.median(ratio):.1f}", middle[2]]
        cells += [f"{max(off):.2f}" if off else "", f"{sum(error < 1 for error in off)} of {len(off)}"]
        lines.append(f"| {' | '.join(cells)} |")
    sound, ratio = np.mean(np.array(errors) < 1) if errors else np.nan, np.median(ratios) if ratios else np.nan
    summary = (
        f"Sound: {sound:.0%} of the {len(errors)} cases that trust a window (90% are asked for), of "
        f"{sum(map(len, results.values()))} in all. Long: the median ratio is {ratio:.1f} over {len(ratios)} cases "
        f"(5 are asked for). Shorter than exact: {shorter} cases (none is asked for)."
    )
    return "\n".join([*lines, "", summary])
