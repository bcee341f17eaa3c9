"""`understudy forecast`: how long a log will answer for a learner, and what will run out first."""

import argparse
import json
import sys

import understudy as us
from understudy.cli.choices import encoder_for, learner_for, read_log, simulator_for, simulators_of, suggest_bandit
from understudy.cli.contexts import with_contexts
from understudy.cli.defaults import for_linear_learners, with_default_learner
from understudy.cli.deployment import deployed, in_log_order, with_arrivals
from understudy.cli.longer import with_longer
from understudy.cli.unused import refuse_unused_encoder, unused_times
from understudy.cli.words import audit_of, print_table, say
from understudy.errors import visible
from understudy.logs.propensities.advice import source_words
from understudy.reporting.belief import without_doubts_of_propensities


def run_forecast(options: argparse.Namespace) -> int:
    """Run `understudy forecast`, and return its exit code. Nothing is written."""
    options = with_arrivals(options)
    options = in_log_order(options, [options])
    log = read_log(options)
    names = simulators_of(log, options)
    log.require_no_errors()
    audit = audit_of(log, options)
    if names == ["qbe"]:
        audit = without_doubts_of_propensities(audit)
    if not audit.believable:  # beside the forecast, which is right about the log all the same; not within JSON
        print(f"Audit of the log: {visible(audit.verdict)} (understudy check says why)", file=sys.stderr)
    options = with_default_learner(options, log)
    refuse_unused_encoder(options, [options.learner], names)
    log = for_linear_learners(log, [options.learner], options)
    blind = with_contexts(us.Audit(()), log, [options], lambda text: None).findings
    for finding in blind:  # beside the forecast, as above
        print(visible(str(finding)), file=sys.stderr)
    encoder = encoder_for(log, options, None)
    make_new, _ = learner_for(log, encoder, options)
    found = {}
    for name in names:
        simulator, make = deployed(simulator_for(name, log, encoder, options), make_new, options)
        found[name] = us.forecast(
            simulator, make, steps=options.steps, seed=options.seed, pre_runs=options.pre_runs,
            max_steps=options.max_steps, workers=options.workers, backend=options.backend,
        )  # fmt: skip
        found[name] = with_longer(found[name], name, log, encoder, make_new, options)
    if options.json:
        print(json.dumps({name: one.to_json() for name, one in found.items()}, indent=1))
    else:
        suggest_bandit(log, options)
        for name, one in found.items():
            show_forecast(name, one)
        say(f"propensities: {source_words(log)}")
        if (note := unused_times(options, [options])) is not None:
            say(note)
    return 0


def show_forecast(name: str, found: us.Forecast) -> None:
    """Print the forecast for a simulator: a sentence, and a table of what runs out first."""
    say(f"{name}: {found}")
    if found.runs_out:
        print_table(found.table())
