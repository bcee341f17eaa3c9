"""The commands and their flags."""

import argparse
from collections.abc import Callable, Mapping
from typing import Any

import understudy as us
from understudy.cli.flags_results import add_report, add_sweep
from understudy.cli.flags_runs import add_backend, add_learner_folder, add_probe, add_run_settings
from understudy.cli.flags_scale import add_on_disk
from understudy.cli.parsing import BriefParser
from understudy.cli.values import (
    LEARNERS,
    above_zero,
    bound,
    delay,
    finite,
    halves,
    learner_name,
    not_negative,
    period,
    positive,
    probability,
    rungs,
    several,
    share,
)
from understudy.logs.coding import FORMS, UNSEEN
from understudy.logs.ends import ENDS
from understudy.logs.loading import FORMATS
from understudy.logs.writing import WRITTEN

Command = Callable[[argparse.Namespace], int]

COLUMN_FLAGS = {
    "observation": "column or columns of what the learner sees",
    "action": "column of the action taken",
    "reward": "column of the reward",
    "cost": "column of what a row cost, in place of the reward: less is better",
    "next-observation": "column or columns of the observation that followed",
    "terminated": "column that says an episode ended by itself; of a column of words, the words: --terminated end=left",
    "truncated": "column that says an episode was cut off, likewise: --truncated end=timeout",
    "episode": "column that tells episodes apart",
    "step": "column that counts steps within an episode",
    "propensity": "columns of the logged probability of each action, or the column of the chosen one's",
    "time": "column of when each row was decided: seconds, or dates with times",
    "arrival": "column of when its outcome was known: learners are told then, unless --delay says otherwise",
    "order-by": "column or columns to sort rows by, such as a time stamp",
    "actions": "the actions' labels, in the order of the propensity columns",
    "categories": "columns of observations that are labels, though they look like numbers, dates or ids",
}
ENDINGS = (
    "how every episode ended, where no column tells: terminated (its last row ended it), truncated (a limit cut it off "
    "there), unfinished (only the recording stopped), every-row (each row is a decision by itself); truncated and "
    "unfinished also beside --terminated, for episodes that did not terminate"
)
SEVERAL = ("observation", "next-observation", "propensity", "order-by", "actions", "categories")
SIMULATORS = ("psrs", "qbe", "exo_psrs", "replay", "pers", "states_only", "actions_only", "any_row", "model")
WHOLE_EPISODES = ("replay", "pers")
"""Simulators that use no states: each row comes with its own observation."""

ENCODERS = ("identity", "boxes", "kmeans", "homer", "forward")


class StoreGiven(argparse.Action):
    """Stores a value, and that it was given: where two learners have different defaults, a default is not a choice."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Any = None
    ) -> None:
        """Store the value under its name, and the name in `given`."""
        setattr(namespace, self.dest, values)
        namespace.given = (*vars(namespace).get("given", ()), self.dest)


def build_parser(run: Mapping[str, Command]) -> argparse.ArgumentParser:
    """Return the parser of all commands; `run` has the function of each."""
    parser = BriefParser(prog="understudy", description="Rehearse a learning agent on your logs before it goes live.")
    parser.add_argument("--version", action="version", version=f"understudy {us.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="the main job on a log it records itself, in under a minute")
    demo.add_argument("--report", default="report.html", metavar="FILE", help="the page to write (%(default)s)")
    demo.add_argument("--runs", type=positive, default=100, help="runs of each simulator (%(default)s)")
    demo.add_argument("--seed", type=int, default=0, help="of the log and of the runs (%(default)s)")
    demo.add_argument("--workers", type=positive, help="threads (one for each core)")
    demo.set_defaults(command=run["demo"])

    check = commands.add_parser("check", help="audit a log; exit code 1: it must not be believed")
    add_log(check)
    check.add_argument("--json", action="store_true", help="print findings, tests, rates and the verdict as JSON")
    check.set_defaults(command=run["check"])

    convert = commands.add_parser("convert", help="a log of any format as Parquet, CSV, dsjson or Minari")
    add_log(convert)
    convert.add_argument("to", metavar="OUT", help="a file that ends in .parquet, .csv or .dsjson, or a Minari id")
    convert.add_argument("--to-format", choices=WRITTEN, help="of OUT, where its ending does not tell (minari)")
    convert.set_defaults(command=run["convert"])

    simulate = commands.add_parser("simulate", help="how a learner would have learned, had it been deployed")
    add_log(simulate)
    add_simulation(simulate)
    simulate.set_defaults(command=run["simulate"], own_parser=simulate)

    forecast = commands.add_parser("forecast", help="how long the log will answer, before simulating")
    add_log(forecast)
    add_forecast(forecast)
    forecast.set_defaults(command=run["forecast"])

    compare = commands.add_parser("compare", help="which of several learners to choose, if the log can tell")
    add_log(compare)
    add_comparison(compare)
    compare.set_defaults(command=run["compare"], own_parser=compare)

    add_sweep(commands, run["sweep"])
    add_report(commands, run["report"])
    return parser


def add_log(parser: argparse.ArgumentParser) -> None:
    """Add the flags that name a log and its columns."""
    several = "a folder of Parquet files, or a pattern in quotes ('logs/*.parquet')"
    parser.add_argument("log", metavar="LOG", help=f"a file, a row for each step; {several}; a Minari id")
    parser.add_argument("--format", choices=FORMATS, help="of LOG (known by its name or content, except Minari ids)")
    add_on_disk(parser)
    columns = parser.add_argument_group("columns, where they are not named as here")
    for name, meaning in COLUMN_FLAGS.items():
        columns.add_argument(f"--{name}", nargs="+" if name in SEVERAL else None, metavar="NAME", help=meaning)
    columns.add_argument("--n-actions", type=positive, metavar="NUMBER", help="how many actions there are (as logged)")
    columns.add_argument("--ends", choices=ENDS, help=ENDINGS)
    columns.add_argument(
        "--bandit",
        action="store_true",
        help="each row is a decision by itself: --ends every-row where no column tells, and --simulator replay (where "
        "the logger learned while it logged, give --order log and --bound, one over its smallest probability)",
    )
    columns.add_argument(
        "--coding",
        choices=FORMS,
        help="of text in observations: a number for each label, or a column for each, as networks need it (codes)",
    )
    columns.add_argument("--like", metavar="FILE", help="code the columns as in this log, a Parquet file of ours")
    columns.add_argument("--unseen", choices=UNSEEN, help="what a label becomes that --like does not have (error)")
    propensities = parser.add_argument_group("propensities, where not those of all actions were logged")
    propensities.add_argument(
        "--propensities",
        metavar="FILE",
        help="those of the policy that acted: a row for each observation, a column for each action",
    )
    propensities.add_argument(
        "--propensity-samples",
        dest="n_samples",
        type=positive,
        metavar="NUMBER",
        help="each is a share of so many draws of the policy",
    )
    propensities.add_argument("--renormalize", action="store_true", help="divide those of each row by their sum")
    propensities.add_argument(
        "--estimate-propensities", action="store_true", help="estimate them, which cannot see what was not logged"
    )


def add_learner(parser: argparse.ArgumentParser) -> None:
    """Add the flags of learners."""
    learner = parser.add_argument_group("learner")
    learner.add_argument(
        "--learner",
        type=learner_name,
        metavar="NAME|MODULE:CLASS",
        help=f"{', '.join(LEARNERS)}, or one of your own, module:Class (q-learning; with --bandit, linucb, or thompson "
        "or epsilon-greedy where observations are codes)",
    )
    add_learner_settings(learner)


def add_learner_settings(learner: argparse._ArgumentGroup) -> None:
    """Add the flags of settings that learners have. One that a learner does not have is refused, see `cli.unused`."""
    learner.set_defaults(given=())
    add_learner_folder(learner)
    settings: dict[str, tuple[Any, Any, str]] = {
        "epsilon": (probability, 0.1, "q-learning, expected-sarsa, epsilon-greedy, exp3: share of exploring steps"),
        "alpha": (
            probability, 0.5,
            "epsilon-greedy: weight of a new reward (all alike); q-learning, expected-sarsa: learning rate",
        ),
        "gamma": (probability, 0.99, "q-learning, expected-sarsa, ppo, uniform: discount"),
        "initial": (
            finite, 0.0, "q-learning, expected-sarsa, epsilon-greedy, gaussian-thompson: value to start from",
        ),
        "epoch-steps": (positive, 5000, "ppo: steps of an epoch"),
        "stack-size": (positive, None, "ppo: runs trained together; on a GPU it decides rounding (10; GPU: up to 64)"),
        "exploration": (not_negative, 1.0, "ucb1, linucb, linear-thompson: factor of what is added to explore"),
        "noise": (above_zero, 1.0, "gaussian-thompson: standard deviation of a reward"),
        "ridge": (above_zero, 1.0, "linucb, linear-thompson: penalty of weights"),
    }  # fmt: skip
    for name, (kind, default, meaning) in settings.items():
        learner.add_argument(
            f"--{name}", type=kind, action=StoreGiven, default=default,
            help=meaning if default is None else f"{meaning} (%(default)s)",
        )  # fmt: skip
    learner.add_argument(
        "--no-scaling", action="store_true",
        help="linucb, linear-thompson: see numbers as they are, not less their mean and in standard deviations",
    )  # fmt: skip
    learner.add_argument(
        "--delay", type=delay, action=StoreGiven, default=0, metavar="DECISIONS|arrival",
        help="what a decision earned is known after so many further ones, or when --arrival says (%(default)s)",
    )  # fmt: skip
    learner.add_argument(
        "--batch", type=positive, default=1, metavar="OUTCOMES", help="learn from so many at a time (%(default)s)"
    )
    learner.add_argument(
        "--period", type=period, metavar="hour|day|week|SECONDS", help="learn once in so long, by --time (at once)"
    )
    learner.add_argument(
        "--warm-start", type=share, metavar="SHARE",
        help="learn from this share of the episodes before the runs, which do not replay them (none)",
    )  # fmt: skip

    learner.add_argument("--traceback", action="store_true", help="where an error is raised, show where in the code")


def add_simulator(parser: argparse.ArgumentParser) -> None:
    """Add the flags of simulators and their states."""
    simulator = parser.add_argument_group("simulator")
    simulator.add_argument(
        "--simulator",
        nargs="+",
        choices=SIMULATORS,
        help="one or more (psrs; without the propensities of all actions, qbe; with --bandit, replay)",
    )
    simulator.add_argument(
        "--bound",
        type=bound,
        metavar="NUMBER|running|quantile",
        help="replay, pers: the largest ratio of policy and propensity (found from the log's propensities; where the "
        "logger learned while it logged these can leak outcomes: give one over its smallest probability)",
    )
    simulator.add_argument(
        "--encoder",
        default="identity",
        metavar="NAME|FILE",
        help=f"states: {', '.join(ENCODERS)}, or a file that encoder.save wrote (%(default)s)",
    )
    simulator.add_argument(
        "--bins", type=positive, action=StoreGiven, default=5, help="boxes: bins of each dimension (%(default)s)"
    )
    simulator.add_argument(
        "--states", type=positive, action=StoreGiven, default=50, help="kmeans, homer: states at most (%(default)s)"
    )
    simulator.add_argument("--order", choices=("episodes", "rows", "log"), help="how the log is read (episodes)")
    simulator.add_argument(
        "--reserve",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="psrs: keep rows that were not accepted for later steps (no)",
    )
    simulator.add_argument(
        "--mean-propensity",
        action="store_const",
        const="state mean",
        help="psrs with --order rows: compare with the mean propensities of a state, for logs of several loggers (no)",
    )
    simulator.add_argument(
        "--then",
        type=rungs,
        metavar="RUNG[,RUNG...]",
        help="where a state has no answer, go on by like (rows of like states), reuse (rows served before), untried "
        "(for actions never taken there), cut (the episode ends); those that the log does not support are left out "
        "(stop)",
    )
    simulator.add_argument(
        "--radius", type=above_zero, help="--then like: how close states are alike (by an audit of the log)"
    )
    simulator.add_argument(
        "--max-cut", type=probability, help="--then cut: the share of 100 episodes that may be (0.02)"
    )
    simulator.add_argument("--openings", choices=("queue", "replacement"), help="first observations (queue)")
    simulator.add_argument("--max-episode-steps", type=positive, help="the simulator's own time limit (the log's)")


def add_forecast(parser: argparse.ArgumentParser) -> None:
    """Add the flags of forecasts: learner, simulator and pre-runs."""
    add_learner(parser)
    add_simulator(parser)
    runs = parser.add_argument_group("forecast")
    runs.add_argument("--steps", type=positive, help="say how many episodes so many steps would need")
    runs.add_argument("--pre-runs", type=positive, help="runs to forecast from (19 to 79, as lengths differ)")
    runs.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    runs.add_argument("--max-steps", type=positive, help="stop a pre-run there (when the log has no further answer)")
    add_backend(runs)
    runs.add_argument("--json", action="store_true", help="print the forecast of each simulator as JSON")


def add_simulation(parser: argparse.ArgumentParser) -> None:
    """Add the flags of learners, simulators and runs."""
    add_learner(parser)
    add_simulator(parser)
    runs = parser.add_argument_group("runs")
    runs.add_argument(
        "--anyway",
        action="store_true",
        help="rehearse though most of the rows that could be tested are in suspicious states",
    )
    runs.add_argument("--runs", type=positive, default=100, help="how many (%(default)s)")
    add_run_settings(runs, "leave runs out that raise an error, named; the same command makes them again")
    runs.add_argument("--every", type=positive, help="steps between two readings of probes (about a hundred in a run)")
    runs.add_argument(
        "--no-rows", action="store_true", help="do not keep which rows each run was served: up to 4 bytes a step less"
    )
    runs.add_argument(
        "--out", metavar="DIR", help="results folder; called again, it goes on there (LOG's name-rehearsal)"
    )

    trust = parser.add_argument_group("how far to believe the runs (this takes a few times as long as the runs)")
    trust.add_argument("--halves", type=halves, metavar="NUMBER", help="random halves of the log (20; ppo: 8)")
    trust.add_argument("--no-halves", action="store_true", help="no runs on halves: curves leave the log's luck out")
    trust.add_argument("--no-forecast", action="store_true", help="do not forecast how long the log will answer")
    trust.add_argument("--no-selfcheck", action="store_true", help="do not test the log and its states on themselves")
    trust.add_argument("--no-classics", action="store_true", help="no off-policy estimates of the final policy")
    trust.add_argument("--quick", action="store_true", help="none of these: the audit, and the runs")


def add_comparison(parser: argparse.ArgumentParser) -> None:
    """Add the flags of several learners, of their simulator and of their runs."""
    learner = parser.add_argument_group("learners")
    learner.add_argument(
        "--learner",
        action="append",
        metavar="NAME[:SETTING=VALUE,...]",
        help=f"give it twice or more, such as q-learning:epsilon=0.9; of {', '.join(LEARNERS)}, or module:Class",
    )
    add_learner_settings(learner)
    add_simulator(parser)
    runs = parser.add_argument_group("runs")
    runs.add_argument(
        "--anyway",
        action="store_true",
        help="compare though most of the rows that could be tested are in suspicious states",
    )
    runs.add_argument("--runs", type=several, help="of each learner (40; with more than four learners, 20)")
    add_probe(runs)
    runs.add_argument("--halves", type=halves, metavar="NUMBER", default=20, help="halves of the log (%(default)s)")
    add_run_settings(runs, "where a learner raises an error in a run, leave the runs of that seed out of all learners")
    runs.add_argument(
        "--out", metavar="DIR", help="results folder; called again, it goes on there (LOG's name-comparison)"
    )
    runs.add_argument("--no-selfcheck", action="store_true", help="do not test the log and its states on themselves")
    parser.set_defaults(quick=False)
    runs.add_argument("--json", action="store_true", help="print what was found as JSON")
