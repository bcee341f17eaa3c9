"""`understudy compare`: several learners or settings on one log, and which of them to choose."""

import argparse
import json
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import understudy as us
from understudy.cli.choices import (
    ENCODER_FILE,
    MODEL_NEEDS_STEPS,
    TRIALS,
    encoder_for,
    keep_encoder,
    learner_for,
    options_of_log,
    read_log,
    reading_interval,
    refuse_suspicious,
    round_number,
    simulator_for,
    simulators_of,
    states_for,
    suggest_bandit,
)
from understudy.cli.contexts import with_contexts
from understudy.cli.defaults import for_linear_learners
from understudy.cli.deployment import (
    deployed,
    deployment_probes,
    in_log_order,
    keep_replayed,
    with_arrivals,
    with_thinned_times,
)
from understudy.cli.large import part_to_test
from understudy.cli.learners import probes_of_rewards
from understudy.cli.parsing import did_you_mean
from understudy.cli.settings_file import write_settings
from understudy.cli.trusting import every_of, selfcheck_for, uses_propensities, with_dependence, with_runs_there
from understudy.cli.unused import (
    USERS,
    WITHOUT_STATES,
    given_settings,
    refuse_unused_encoder,
    refuse_unused_settings,
    unused_times,
)
from understudy.cli.values import LEARNER_SETTINGS, LEARNERS, LINEAR, is_own_learner
from understudy.cli.words import audit_of, name_of_log, plain_name, print_table, say, say_decision
from understudy.errors import LogError, SettingError, visible
from understudy.logs.propensities.advice import source_words
from understudy.reporting.belief import as_believed, belief, doubts_propensities
from understudy.reporting.decision import advice
from understudy.reporting.measurements import measure
from understudy.reporting.page import write_page
from understudy.results import AskedComparison, ResultsFolder, read_compared, write_compared, write_state_audit
from understudy.runs.experiment import check_folder


def run_compare(options: argparse.Namespace) -> int:
    """Run `understudy compare`, and return its exit code. With --json, nothing but JSON is printed.

    Nothing is written before all options are checked.
    """
    if len(options.learner or ()) < 2:
        n_given = "is one learner only" if options.learner else "are no learners"
        raise SettingError(f"there {n_given}; give --learner twice or more, such as q-learning:epsilon=0.1")
    given = [settings_of(text, options) for text in options.learner]
    if len(set(options.learner)) < len(given):
        raise SettingError("two of the learners are the same; give each --learner once")
    refuse_unused_settings([one.learner for one in given], given_settings(options))
    options = in_log_order(options, given)
    tell = (lambda text: None) if options.json else say
    log = read_log(options)
    audit = with_dependence(audit_of(log, options), log)
    tell(audit)
    tell(f"propensities: {source_words(log)}")
    if (note := unused_times(options, given)) is not None:
        tell(note)
    if not options.json:
        suggest_bandit(log, options)
    log.require_no_errors()
    log = for_linear_learners(log, [one.learner for one in given], options)
    audit = with_contexts(audit, log, given, tell)
    name, *others = simulators_of(log, options)
    if others:
        raise SettingError(f"learners are compared under one simulator; give --simulator {name} or {others[0]}")
    if name == "model" and options.max_steps is None:
        raise SettingError(MODEL_NEEDS_STEPS)
    refuse_unused_encoder(options, [one.learner for one in given], [name])

    folder = Path(options.out or f"{plain_name(options.log)}-comparison")
    title = f"{len(given)} learners compared on {visible(name_of_log(options.log))}"
    results = ResultsFolder(folder, title, options_of_log(options, log), audit, vars(options).get("typed"))
    goes_on = results.check()
    refuse_other_learners(folder, options.learner)
    options = with_runs_there(options, results.most_finished(options.learner) if goes_on else 0, tell)
    encoder = encoder_for(log, options, folder / ENCODER_FILE if goes_on else None)
    simulator = simulator_for(name, log, encoder, options)
    audit = with_thinned_times(audit, simulator, given, tell)
    results = replace(results, audit=audit)
    states, tested = None, log
    if name not in WITHOUT_STATES:
        tested = part_to_test(log)
        states = states_for(tested, encoder, folder if goes_on else None)
        if not options.anyway:
            refuse_suspicious(states)
    learners = {}
    for text, one in zip(options.learner, given, strict=True):  # all on the same episodes, whatever the learner
        replayed, learners[text] = deployed(simulator, learner_for(log, encoder, one)[0], one)
    probes = probes_of_rewards() | deployment_probes(options)  # which every learner has, whatever it keeps
    every = every_for(learners, given, replayed, log, folder)
    if options.probe is None and not goes_on:
        refuse_without_episodes(learners, given, replayed)
    for text, make in learners.items():  # before anything is written that belongs to runs of before
        settings = {"seed": options.seed, "max_steps": options.max_steps, "probes": probes, "every": every}
        check_folder(folder / text, replayed, make, **settings)
    results.create()
    again = keep_encoder(encoder, options, folder)
    write_settings(folder / "run.toml", argparse.Namespace(**vars(again) | {"out": str(folder)}), "compare")
    probe = None if options.probe is None else options.probe.replace("-", " ")
    keep_replayed(folder, dict.fromkeys(learners, replayed), options)
    write_compared(folder, AskedComparison(tuple(learners), probe))
    if states is not None:
        write_state_audit(folder, states)
    selfcheck = None
    if states is not None:
        propensities = uses_propensities([name]) or not doubts_propensities(audit)
        selfcheck = selfcheck_for(tested, encoder, folder, options, propensities=propensities)
    if selfcheck is not None:
        tell(f"self-check: {selfcheck.verdict}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", us.FailedRunsWarning)  # said with what was found
        found = us.compare(
            learners, replayed, runs=options.runs, halves=options.halves, max_steps=options.max_steps, probes=probes,
            every=every, seed=options.seed, workers=options.workers, backend=options.backend, out=folder,
            errors="keep" if options.keep_going else "raise", progress=False if options.json else None,
            probe=probe,
        )  # fmt: skip
    measured = measure({text: one.runs for text, one in found.halves.items()}, compared_by=probe)
    verdict = belief(measured, audit, states, selfcheck)
    page = write_page(
        measured, folder / "report.html", audit=audit, states=states, selfcheck=selfcheck, title=title,
        command=(ResultsFolder.read(folder) or results).command,
    )  # fmt: skip
    if options.json:
        told = advice(measured, verdict)
        believed = None if told is None else told.believed
        untold = {"best": None, "is_decided": False, "undecided": list(learners)}  # nothing to compare can be believed
        content = {
            **(untold if believed is None else believed.to_json()),
            "beyond_belief": (whole := found.to_json()), "left_out": whole.get("left_out"),  # of all that runs finished
            "decision": None if told is None else told.to_json(), "trusted": as_believed(measured, verdict).trusted(),
            "findings": audit.to_json()["findings"], "page": str(page),
        }  # fmt: skip
        print(json.dumps(content, indent=1))
        return 0
    told = say_decision(measured, verdict)
    if told is not None and told.answer == "not believed":
        say(f"Which learner is ahead is on the page, {page}, and not to be decided by.")
        return 0
    shown = None if told is None else told.comparison
    print_table((shown or found).table())  # the page's own, where there is one
    over = "all episodes that runs finished" if probe is None else "all steps that runs reached"
    lines = str(found).replace("\n", "\n  ")
    say(f"Over {over}, beyond what can be believed, too:\n  {lines}")
    say(f"\nThe page is {page}")
    return 0


def refuse_other_learners(folder: Path, learners: Sequence[str]) -> None:
    """Raise `ResultsError` where a folder compares learners that are not among these: each pair by itself would be told
    apart more often than all together.
    """
    there = read_compared(folder)
    if there is not None and (missing := [name for name in there.learners if name not in learners]):
        raise us.ResultsError(
            f"{folder} compares {', '.join(map(repr, missing))}, too; give all of its learners and the new ones, so "
            "that they are compared together, or another folder with --out"
        )


def refuse_without_episodes(learners: Mapping[str, Any], given: Sequence[argparse.Namespace], simulator: Any) -> None:
    """Raise `LogError` before the runs where those of a learner do not last for an episode, so none can be compared.

    Where 95% of runs finish one, as a comparison needs, none of five on trial does with a chance below one in a
    million. Networks and learners of one's own take too long for that; what is wrong with them is said after the runs.
    """
    for (text, make), one in zip(learners.items(), given, strict=True):
        if one.learner == "ppo" or is_own_learner(one.learner):
            continue
        trials: list[us.Run] = []
        with suppress(Exception):  # what raises here raises in the first run, which says where
            trials = [us.simulate(simulator, make(seed), seed, one.max_steps) for seed in range(TRIALS)]
        if trials and not any(len(trial.ends) for trial in trials):
            raise LogError(
                f"what an episode earns cannot be compared: of {TRIALS} runs of {text} on trial none finished an "
                f"episode (they stopped after {np.median([len(trial) for trial in trials]):,.0f} steps in the median); "
                "leave it out, log more episodes, or compare what was earned step by step, with --probe reward-so-far",
                "compare",
            )


def every_for(
    learners: Mapping[str, Any], given: Sequence[argparse.Namespace], simulator: Any, log: us.Log, folder: Path
) -> int:
    """Return the steps between two readings, the same for all learners: so that the shortest median run has a hundred.

    Where the folder has runs already, it is theirs.
    """
    known = [every for text in learners if (every := every_of(folder / text)) is not None]
    intervals = []
    for make, one in [] if known else zip(learners.values(), given, strict=True):
        with suppress(Exception):  # what raises here raises in the first run, which says where
            intervals.append(reading_interval(simulator, make, log, one))
    return min([*known, *intervals], default=round_number(len(log) / 200))


def settings_of(text: str, options: argparse.Namespace) -> argparse.Namespace:
    """Return the options of one learner, given as NAME, as NAME:setting=value,setting=value, or as module:Class.

    Settings that are not named are as the flags of the same names say, where the learner has them.
    """
    if is_own_learner(text):
        shared = {"learner": text, "given": _of_any_learner(options), "no_scaling": False}
        return with_arrivals(argparse.Namespace(**vars(options) | shared))
    name, _, rest = text.partition(":")
    if is_own_learner(":".join(text.split(":")[:2])):
        raise SettingError(
            f"--learner {text}: settings are of our learners only; give your module a class or a function for each "
            "setting, and compare those"
        )
    if name not in LEARNERS:
        meant = did_you_mean(name, LEARNERS)
        raise SettingError(
            f"there is no learner {name!r}{meant} in --learner {text}; give one of {', '.join(LEARNERS)}"
        )
    found: dict[str, Any] = dict(vars(options)) | {"learner": name, "no_scaling": options.no_scaling and name in LINEAR}
    given = [*_of_any_learner(options), *(one for one in options.given if name in USERS.get(one, ()))]
    for setting in filter(None, rest.split(",")):
        key, sign, value = setting.partition("=")
        if key not in LEARNER_SETTINGS or not sign:
            raise SettingError(
                f"{setting!r} in --learner {text} is not a setting; give {', '.join(LEARNER_SETTINGS)} as name=value, "
                "separated by commas"
            )
        try:
            found[key.replace("-", "_")] = LEARNER_SETTINGS[key](value)
            given.append(key.replace("-", "_"))
        except (ValueError, argparse.ArgumentTypeError) as error:
            raise SettingError(f"{setting!r} in --learner {text} cannot be used: {error}") from None
    return with_arrivals(argparse.Namespace(**found | {"given": tuple(given)}))


def _of_any_learner(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the given flags that are not settings of some learners only."""
    return tuple(one for one in options.given if one not in USERS)
