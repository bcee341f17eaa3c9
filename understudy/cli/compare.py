"""`understudy compare`: several learners or settings on one log, and which of them to choose."""

import argparse
import json
import warnings
from typing import Any

import understudy as us
from understudy.cli.choices import (
    MODEL_NEEDS_STEPS,
    encoder_for,
    learner_for,
    read_log,
    refuse_suspicious,
    simulator_for,
    simulators_of,
    states_for,
    suggest_bandit,
)
from understudy.cli.defaults import for_linear_learners
from understudy.cli.deployment import deployed, in_log_order, with_arrivals
from understudy.cli.unused import (
    USERS,
    WITHOUT_STATES,
    given_settings,
    refuse_unused_encoder,
    refuse_unused_settings,
    refuse_unused_times,
)
from understudy.cli.values import LEARNER_SETTINGS, LEARNERS, LINEAR, is_own_learner
from understudy.cli.words import audit_of, say
from understudy.errors import SettingError
from understudy.logs.propensities.advice import source_words


def run_compare(options: argparse.Namespace) -> int:
    """Run `understudy compare`, and return its exit code. With --json, nothing but JSON is printed."""
    given = [settings_of(text, options) for text in options.learner]
    if len(set(options.learner)) < len(given):
        raise SettingError("two of the learners are the same; give each --learner once")
    if len(given) < 2:
        raise SettingError("there is one learner only; give --learner twice or more, such as q-learning:epsilon=0.1")
    refuse_unused_settings([one.learner for one in given], given_settings(options))
    options = in_log_order(options, given)
    refuse_unused_times(options, given)
    log = read_log(options)
    if not options.json:
        say(audit_of(log, options))
        say(f"propensities: {source_words(log)}")
        suggest_bandit(log, options)
    log.require_no_errors()
    log = for_linear_learners(log, [one.learner for one in given], options)
    encoder = encoder_for(log, options, None)
    name, *others = simulators_of(log, options)
    if others:
        raise SettingError(f"learners are compared under one simulator; give --simulator {name} or {others[0]}")
    if name == "model" and options.max_steps is None:
        raise SettingError(MODEL_NEEDS_STEPS)
    refuse_unused_encoder(options, [one.learner for one in given], [name])
    simulator = simulator_for(name, log, encoder, options)
    if not options.anyway and name not in WITHOUT_STATES:
        refuse_suspicious(states_for(log, encoder, None))
    learners = {}
    for text, one in zip(options.learner, given, strict=True):  # all on the same episodes, whatever the learner
        replayed, learners[text] = deployed(simulator, learner_for(log, encoder, one)[0], one)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", us.FailedRunsWarning)  # said with what was found
        found = us.compare(
            learners, replayed, runs=options.runs, halves=options.halves, seed=options.seed,
            max_steps=options.max_steps, workers=options.workers, backend=options.backend, out=options.out,
            errors="keep" if options.keep_going else "raise", progress=False if options.json else None,
        )  # fmt: skip
    if options.json:
        print(json.dumps(found.to_json(), indent=1))
    else:
        show(found)
    return 0


def settings_of(text: str, options: argparse.Namespace) -> argparse.Namespace:
    """Return the options of one learner, given as NAME, as NAME:setting=value,setting=value, or as module:Class.

    Settings that are not named are as the flags of the same names say, where the learner has them.
    """
    if is_own_learner(text):
        shared = {"learner": text, "given": _of_any_learner(options), "no_scaling": False}
        return with_arrivals(argparse.Namespace(**vars(options) | shared))
    name, _, rest = text.partition(":")
    if name not in LEARNERS:
        raise SettingError(f"there is no learner {name!r} in --learner {text}; give one of {', '.join(LEARNERS)}")
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


def show(found: us.Comparison) -> None:
    """Print the decision and a table of learners."""
    from rich.console import Console

    from understudy.reporting.terminal import as_rich

    Console().print(as_rich(found.table()))
    say(found)
