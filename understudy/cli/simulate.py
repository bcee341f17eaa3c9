"""`understudy simulate`: rehearse a learner on a log, into a results folder with a page."""

import argparse
from pathlib import Path

import understudy as us
from understudy.cli.choices import (
    encoder_for,
    learner_for,
    read_log,
    reading_interval,
    refuse_suspicious,
    shared_options,
    simulator_for,
    simulators_of,
    states_for,
    suggest_bandit,
)
from understudy.cli.flags import WHOLE_EPISODES
from understudy.cli.trusting import (
    check_halves,
    experiment_for,
    forecast_for,
    selfcheck_for,
    uses_propensities,
    with_dependence,
)
from understudy.cli.words import in_flags, say, show_table
from understudy.errors import visible
from understudy.logs.propensities.advice import source_words
from understudy.reporting.belief import belief, doubts_propensities
from understudy.reporting.measurements import measure
from understudy.reporting.page import write_page
from understudy.results import ResultsFolder, write_state_audit

WITHOUT_STATES = ("actions_only", "any_row", *WHOLE_EPISODES)
"""Simulators that use no states, so that suspicious ones do not matter to them."""


def say_order(audit: us.Audit, options: argparse.Namespace) -> None:
    """Say that a logger that adapts needs the log's order, where another one was asked for."""
    if options.order != "log" and any(finding.rule == "propensity-trend" for finding in audit.findings):
        say("the logger seems to have adapted while it logged: rows are exact in the order of the log, --order log")


def run_simulate(options: argparse.Namespace) -> int:
    """Run `understudy simulate`, and return its exit code. Nothing is written before all options are checked."""
    check_halves(options)
    log = read_log(options)
    audit = with_dependence(in_flags(us.check(log)), log)
    say(audit)
    say(f"propensities: {source_words(log)}")
    say_order(audit, options)
    suggest_bandit(log, options)
    names = simulators_of(log, options)
    if "model" in names and options.max_steps is None:
        raise us.SettingError("model never runs out; say for how long to go on with max_steps=")
    log.require_no_errors()

    folder = Path(options.out or f"{Path(options.log).name.split('.')[0]}-rehearsal")
    title = f"{options.learner} rehearsed on {visible(Path(options.log).name)}"
    results = ResultsFolder(folder, title, shared_options(options, log), audit)
    goes_on = results.check()
    encoder = encoder_for(log, options, folder / "encoder.npz" if goes_on else None)
    make, probes = learner_for(log, encoder, options)
    simulators = {name: simulator_for(name, log, encoder, options) for name in names}
    for name in set(names) & set(WHOLE_EPISODES):
        say(f"{name}: {simulators[name].acceptance}")
    has_states = bool(set(names) - set(WHOLE_EPISODES))
    states = states_for(log, encoder, folder if goes_on else None) if has_states else None
    if encoder is not None and states is not None:
        say(states)
    if not options.anyway and states is not None and set(names) - set(WITHOUT_STATES):
        refuse_suspicious(states)
    results.create()
    if states is not None:
        write_state_audit(folder, states)
    if encoder is not None:
        us.encoders.save(encoder, folder / "encoder.npz")
    selfcheck = None
    if has_states:
        propensities = uses_propensities(names) or not doubts_propensities(audit)
        selfcheck = selfcheck_for(log, encoder, folder, options, propensities=propensities)
        if selfcheck is not None:
            say(f"self-check: {selfcheck.verdict}")
    elif not options.quick and not options.no_selfcheck:
        say(f"self-check: left out, since it tests states, of which {' and '.join(names)} makes no use")
    runs, forecasts = {}, {}
    for name, simulator in simulators.items():
        forecast = forecast_for(name, simulator, make, folder, options)
        if forecast is not None:
            forecasts[name] = forecast
            say(f"{name}: {forecast}")
        n_finished = results.n_finished(name)
        if n_finished:
            print(f"{name}: {min(n_finished, options.runs):,} of {options.runs:,} runs were there already")
        runs[name] = experiment_for(options, simulator, log, name, folder)(
            simulator, make, runs=options.runs, seed=options.seed, max_steps=options.max_steps,
            probes=probes, every=options.every or reading_interval(simulator, make, log, options),
            workers=options.workers, out=folder / name, title=name, keep_rows=not options.no_rows,
        )  # fmt: skip
    measured = measure(runs, forecasts=forecasts)
    say(f"\n{belief(measured, audit, states, selfcheck)}\n")
    show_table(measured)
    page = write_page(measured, folder / "report.html", audit=audit, states=states, selfcheck=selfcheck, title=title)
    say(f"\nThe page is {page}")
    return 0
