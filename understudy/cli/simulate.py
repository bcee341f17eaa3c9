"""`understudy simulate`: rehearse a learner on a log, into a results folder with a page."""

import argparse
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import understudy as us
from understudy.cli.choices import (
    ENCODER_FILE,
    MODEL_NEEDS_STEPS,
    encoder_for,
    keep_encoder,
    learner_for,
    read_log,
    reading_interval,
    refuse_suspicious,
    round_number,
    shared_options,
    simulator_for,
    simulators_of,
    states_for,
    suggest_bandit,
)
from understudy.cli.classics import classics_for
from understudy.cli.contexts import blind_words, with_contexts
from understudy.cli.defaults import for_linear_learners, with_default_learner
from understudy.cli.deployment import (
    deployed,
    deployment_words,
    in_log_order,
    keep_replayed,
    with_arrivals,
    with_thinned_times,
)
from understudy.cli.flags import WHOLE_EPISODES
from understudy.cli.large import part_in_words, part_to_test
from understudy.cli.longer import with_longer
from understudy.cli.settings_file import was_made_in_full, write_settings
from understudy.cli.telling import keep_for_json
from understudy.cli.trusting import (
    beyond_for,
    check_halves,
    every_of,
    experiment_for,
    forecast_for,
    going_on,
    keep_rung_notes,
    selfcheck_for,
    uses_propensities,
    with_dependence,
    with_runs_there,
)
from understudy.cli.unused import WITHOUT_STATES, refuse_unused_encoder, unused_times
from understudy.cli.words import audit_of, name_of_log, plain_name, say, say_decision, say_pending, show_table
from understudy.errors import visible
from understudy.logs.naming import feature_name, is_date
from understudy.logs.propensities.advice import source_words
from understudy.reporting.belief import as_believed, belief, doubts_propensities
from understudy.reporting.measurements import measure
from understudy.reporting.page import write_page
from understudy.results import ResultsFolder, write_state_audit
from understudy.runs.experiment import check_folder
from understudy.runs.failures import failures_sentence
from understudy.simulators.ladder import LadderReplay


def say_order(log: us.Log, audit: us.Audit, options: argparse.Namespace) -> None:
    """Say that a logger that adapts, or a date that is observed, needs the log's order, where another was asked for."""
    if options.order != "log" and any(finding.rule == "propensity-trend" for finding in audit.findings):
        say("the logger seems to have adapted while it logged: rows are exact in the order of the log, --order log")
    if options.order != "log" and (rising := rising_dates(log)):
        say(f"{visible(rising[0])} rises over the log, and rows are offered in random order, as if its days were "
            "shuffled: --order log keeps them in theirs")  # fmt: skip


def rung_note(simulator: Any, options: argparse.Namespace) -> str | None:
    """Return which of the rungs that were asked for the log does not support, and what its audit found of states alike.

    None where there was nothing to audit.
    """
    if not isinstance(simulator, LadderReplay) or simulator.audit is None:
        return None
    left_out = [rung for rung in options.then if rung not in simulator.ladder]
    words = f"left out of --then {','.join(options.then)} by the audit of the log: {', '.join(left_out)}; "
    return f"{words * bool(left_out)}{simulator.audit.sentence}"


def say_failed(name: str, runs: us.Runs) -> None:
    """Say which runs failed, those on halves of the log included, and where their tracebacks are."""
    sets = {"": runs} | {f" on half {number} of the log": half for number, half in enumerate(runs.halves)}
    for where, its_runs in sets.items():
        if its_runs.failed:
            told = failures_sentence(its_runs.failed, len(its_runs) + len(its_runs.failed))
            say(f"{name}{where}: {told}; tracebacks are in the results folder, and the same command makes them again")


def rising_dates(log: us.Log) -> list[str]:
    """Return the names of dates that are observed and never fall from one episode to the next."""
    first = log.observation.reshape(len(log), -1)[log.starts[:-1]]
    dates = [entry for entry in range(first.shape[1]) if is_date(log.spec, entry)]
    return [feature_name(log.spec, entry) for entry in dates if (np.diff(first[:, entry]) >= 0).all()]


def settings_for(
    name: str, deployment: Any, probes: Any, log: us.Log, folder: Path, options: argparse.Namespace
) -> dict[str, Any]:
    """Return the settings of the runs of a simulator that decide whether they can go on in a folder."""
    simulator, make = deployment
    every = options.every or every_of(folder)
    with going_on(options, f"{name}: no run on trial"):
        every = every or reading_interval(simulator, make, log, options)
    every = every or round_number(len(log) / 200)
    return {"seed": options.seed, "max_steps": options.max_steps, "probes": probes, "every": every}


def run_simulate(options: argparse.Namespace) -> int:
    """Run `understudy simulate`, and return its exit code. Nothing is written before all options are checked."""
    check_halves(options)
    options = with_arrivals(options)
    options = in_log_order(options, [options])
    log = read_log(options)
    audit = with_dependence(audit_of(log, options), log)
    say(audit)
    say(f"propensities: {source_words(log)}")
    if (note := unused_times(options, [options])) is not None:
        say(note)
    say_order(log, audit, options)
    suggest_bandit(log, options)
    names = simulators_of(log, options)
    if "model" in names and options.max_steps is None:
        raise us.SettingError(MODEL_NEEDS_STEPS)
    log.require_no_errors()
    options = with_default_learner(options, log)
    refuse_unused_encoder(options, [options.learner], names)
    log = for_linear_learners(log, [options.learner], options)
    audit = with_contexts(audit, log, [options], say)

    folder = Path(options.out or f"{plain_name(options.log)}-rehearsal")
    how = blind_words(log, options) + deployment_words(options)
    title = f"{options.learner}{how.replace(',,', ',')} rehearsed on {visible(name_of_log(options.log))}"
    results = ResultsFolder(folder, title, shared_options(options, log), audit, vars(options).get("typed"))
    goes_on = results.check()
    options = with_runs_there(options, results.most_finished(names) if goes_on else 0, say)
    encoder = encoder_for(log, options, folder / ENCODER_FILE if goes_on else None)
    make_new, probes = learner_for(log, encoder, options)
    simulators = {name: simulator_for(name, log, encoder, options) for name in names}
    deployments = {name: deployed(simulators[name], make_new, options) for name in names}
    for name in set(names) & set(WHOLE_EPISODES):
        say(f"{name}: {simulators[name].acceptance}")
        audit = with_thinned_times(audit, simulators[name], [options], say)
    results = replace(results, audit=audit)
    notes = {name: note for name in names if (note := rung_note(simulators[name], options)) is not None}
    for name, note in notes.items():
        say(f"{name}: {note}")
    has_states = bool(set(names) - set(WHOLE_EPISODES))
    tested = part_to_test(log) if has_states else log
    if tested is not log:
        say(part_in_words(tested, log))
    states = states_for(tested, encoder, folder if goes_on else None) if has_states else None
    if encoder is not None and states is not None:
        say(states)
    if not options.anyway and states is not None and set(names) - set(WITHOUT_STATES):
        refuse_suspicious(states)
    settings = {name: settings_for(name, deployments[name], probes, log, folder / name, options) for name in names}
    for name in names:  # before anything is written that belongs to runs of before
        check_folder(folder / name, *deployments[name], **settings[name])
    results.create()
    quick = options.quick and not was_made_in_full(folder / "run.toml")  # what the folder holds is to be made again
    again = keep_encoder(encoder, options, folder)
    write_settings(folder / "run.toml", argparse.Namespace(**vars(again) | {"out": str(folder), "quick": quick}))
    keep_replayed(folder, {name: replayed for name, (replayed, _) in deployments.items()}, options)
    keep_rung_notes(folder, notes)
    if states is not None:
        write_state_audit(folder, states)
    selfcheck = None
    if has_states:
        propensities = uses_propensities(names) or not doubts_propensities(audit)
        selfcheck = selfcheck_for(tested, encoder, folder, options, propensities=propensities)
        if selfcheck is not None:
            say(f"self-check: {selfcheck.verdict}")
    elif not options.quick and not options.no_selfcheck:
        say(f"self-check: left out, since it tests states, of which {' and '.join(names)} makes no use")
    runs, forecasts, classics, past = {}, {}, {}, {}
    for name in names:
        simulator, make = deployments[name]
        forecast, further, beside = None, None, None
        with going_on(options, f"{name}: no forecast"):
            more = partial(with_longer, name=name, log=log, encoder=encoder, make=make_new, options=options)
            forecast = forecast_for(name, simulator, make, folder, options, more)
        if forecast is not None:
            forecasts[name] = forecast
            say(f"{name}: {forecast}")
        n_finished = results.n_finished(name)
        if n_finished:
            print(f"{name}: {min(n_finished, options.runs):,} of {options.runs:,} runs were there already")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", us.FailedRunsWarning)  # said below, once
            runs[name] = experiment_for(options, simulator, log, name, folder)(
                simulator, make, runs=options.runs, workers=options.workers, backend=options.backend, title=name,
                out=folder / name, keep_rows=not options.no_rows, errors="keep" if options.keep_going else "raise",
                **settings[name],
            )  # fmt: skip
        say_failed(name, runs[name])
        with going_on(options, f"{name}: no evidence past the exact part"):
            further = beyond_for(name, simulator, make, runs[name], probes, folder, options)
        if further is not None:
            past[name] = further
        with going_on(options, f"{name}: no off-policy estimates beside the curve"):
            beside = classics_for(name, simulator, make, folder, options)
        if beside is not None:
            classics[name] = beside
            say(f"{name}: {beside.sentence}")
    measured = measure(runs, forecasts=forecasts, beyond=past)
    verdict = belief(measured, audit, states, selfcheck)
    say_decision(measured, verdict)
    show_table(as_believed(measured, verdict))
    say_pending(measured)
    page = write_page(
        measured, folder / "report.html", audit=audit, states=states, selfcheck=selfcheck, off_policy=classics,
        rung_notes=notes, title=title, command=(ResultsFolder.read(folder) or results).command,
    )  # fmt: skip
    say(f"\nThe page is {page}")
    keep_for_json(options, page=page)
    return 0
