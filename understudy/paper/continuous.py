"""Figures 4 to 7 and the table of PPO: a learner of points, under true states, learned ones and three baselines."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

import understudy as us
from understudy.contracts.progress import progress_bar
from understudy.evaluation.fidelity import CensoringWarning, Fidelity
from understudy.paper import grids, points
from understudy.paper.drawing import paired_looks, with_zoom
from understudy.paper.items import Columns, Comparison, Finding, Item, Picture, Table
from understudy.paper.measuring import curve_columns, fidelity_columns, listed, ratio_of_medians
from understudy.paper.stage import Stage
from understudy.reporting.plots import curves_of_runs
from understudy.runs import Runs
from understudy.runs.backends import in_processes, in_turn, n_cores

TITLE = "PPO on continuous observations (Figures 4 to 7, and their table)"


@dataclass(frozen=True)
class Settings:
    """Sizes of the item."""

    runs: int = 10
    epochs: int = 50
    many_epochs: int = 20  # of the runs beyond the first ten
    epoch_steps: int = 5000
    own_runs: int = 30  # with a log each
    own_rows: int = 500_000  # of those logs
    own_epochs: int = 8  # they are not continued beyond
    real_runs: int = 60  # that those are compared with
    ppo: Mapping[str, Any] = field(default_factory=dict)


FULL = Settings()
QUICK = Settings(
    runs=3, epochs=4, many_epochs=4, epoch_steps=800, own_runs=3, own_rows=10_000, own_epochs=2, real_runs=3,
    ppo={"policy_rate": 2e-3, "value_rate": 5e-3, "policy_iterations": 20, "value_iterations": 20},
)  # fmt: skip

FIRST = 10
"""Runs that go on to the last epoch, however many there are."""

REAL = "Real"
PAPERS = {
    "PSRS-oracle": (17, 0.173),
    "PSRS-Homer": (16, 0.203),
    "obs-only": (50, 1.148),
    "act-only": (50, 1.221),
    "random": (50, 1.514),
}
"""The paper's table: efficiency in epochs, and fidelity. Its PSRS-encoder is our PSRS-Homer."""

PUBLISHED_EPOCHS = 16  # over which the paper's RMSE is taken, in every row
BASELINES = ("obs-only", "act-only", "random")
EXACT = ("PSRS-oracle", "PSRS-Forward")
DRAWN = ("PSRS-oracle", "PSRS-Homer", "PSRS-Forward", *BASELINES)
QUEUES = ("QBE-oracle", "QBE-Homer", "QBE-Forward")
SETS = (*DRAWN, *QUEUES)
LOOKS = paired_looks((REAL, *SETS), REAL)
RETURN, LENGTH, WITHIN = "validation return", "validation length", "return within the epoch"
VALUE = points.POLICY_VALUE

LONG, MANY, OWN = "long", "many", "own logs"


@dataclass(frozen=True)
class Work:
    """The sets of runs of this item, each made by its kind and name, in whatever process."""

    stage: Stage
    settings: Settings

    def __call__(self, what: tuple[str, str], wanted: Callable[[], bool] = lambda: True) -> Runs:
        kind, name = what
        return {LONG: self.long, MANY: self.many, OWN: self.own}[kind](name)

    @cached_property
    def ready(self) -> points.Prepared:
        """The log and encoders, which are read from the results folder where they have been trained."""
        return points.prepare(self.stage)

    def __getstate__(self) -> dict[str, Any]:
        return {"stage": self.stage, "settings": self.settings}  # the rest is made again where it is needed

    def long(self, name: str) -> Runs:
        """The first runs, to the last epoch."""
        return self.runs(name, name, min(FIRST, self.settings.runs), self.settings.epochs)

    def many(self, name: str) -> Runs:
        """As many as were asked for, for fewer epochs."""
        return self.runs(f"{name}, many", name, self.settings.runs, self.settings.many_epochs)

    def own(self, name: str) -> Runs:
        """Runs with a log of their own each: then they are independent, as real ones are."""
        if name == REAL:
            return self.runs(f"{name}, to compare", name, self.settings.real_runs, self.settings.own_epochs)
        env, rows, cap, make = self.ready.env, self.settings.own_rows, self.cap, self.simulator(name)
        factory = lambda seed: make(points.record(env, rows, seed, cap))  # noqa: E731
        return self.runs(f"{name}, own logs", name, self.settings.own_runs, self.settings.own_epochs, factory)

    def runs(self, title: str, name: str, runs: int, epochs: int, factory: Any = None) -> Runs:
        """Runs of PPO under one of the simulators."""
        env, log, steps = self.ready.env, self.ready.log, self.settings.epoch_steps
        options = {"epoch_steps": steps, "abandons": self.stage.authors, **self.settings.ppo}
        simulator = factory or (points.real(env, self.cap) if name == REAL else self.simulator(name)(log))
        return self.stage.experiment(
            title, simulator, lambda seed: us.learners.PPO(log.spec, seed=seed, **options),
            runs=runs, max_steps=epochs * steps, every=steps, workers=1, progress=False,
            probes=us.probes.validation(env, gamma=points.GAMMA, max_episode_steps=points.CAP)
            | {VALUE: points.policy_value(env), WITHIN: us.probes.episode_returns},
        )  # fmt: skip

    @property
    def cap(self) -> int | None:
        return points.CAP if self.stage.authors else None

    def simulator(self, name: str) -> Callable[[us.Log], Any]:
        """What makes a simulator of a log."""
        order, encoders = {"order": grids.conventions(self.stage).order}, self.ready.encoders
        if name == "act-only":
            return us.actions_only
        if name == "random":
            return us.any_row
        if name == "obs-only":  # by the states of the paper's encoder
            return lambda log: us.states_only(log, encoders[points.HOMER], **order)
        kind, encoder = name.split("-")
        make = {"PSRS": us.psrs, "QBE": us.qbe}[kind]
        return lambda log: make(log, encoders[encoder], **order)


def run(stage: Stage) -> Item:
    """PPO in the true grid and under each simulator; on one log as in the paper, and with a log for each run."""
    settings = stage.settings(FULL, QUICK)
    work = Work(stage, settings)
    ready = work.ready  # trains the encoders, once for all workers
    longer = settings.runs > FIRST
    wanted = [(LONG, name) for name in (REAL, *SETS)] + [(OWN, name) for name in (REAL, *DRAWN)]
    wanted += [(MANY, name) for name in (REAL, *SETS)] if longer else []
    made = performed(work, sorted(wanted, key=lambda what: what[1] not in (REAL, *BASELINES)))  # the longest first
    first = {name: made[LONG, name] for name in (REAL, *SETS)}
    sets = {name: made[MANY, name] for name in (REAL, *SETS)} if longer else first
    own = {name: made[OWN, name] for name in DRAWN}
    real = made[OWN, REAL]

    found = {name: published(sets[name], sets[REAL], settings) for name in SETS}
    epochs = {name: completed_epochs(sets[name], first[name], settings) for name in SETS}
    judged = fidelity_columns(own, real, VALUE)  # at the usual margin, a tenth of the real curve's range
    mean_curves = {name: first[name] for name in (*DRAWN, REAL)}
    queues = {name: first[name] for name in (REAL, *SETS) if name not in BASELINES}
    own_horizon = int(min(judged["horizon"][:3])) // settings.epoch_steps
    return Item(
        about=(
            f"A log of {len(ready.log):,} rows of the uniform policy, PPO with epochs of {settings.epoch_steps:,} "
            f"steps, {settings.runs} runs of each set"
            + (f" to {settings.many_epochs} epochs, the first {FIRST} of them" if longer else "")
            + f" to {settings.epochs} epochs. Validation is 10 episodes of the stochastic policy in the true grid, "
            f"discounted by {points.GAMMA}; the value of the policy is what infinitely many would earn, found by "
            "linear equations. Homer is the paper's encoder, Forward ours; obs-only is keyed by Homer's states. "
            "Encoders were trained on the log they are used on, except in the runs with logs of their own. "
            + (
                "An epoch's end abandons the episode, and the log is read in row order, as in the published code."
                if stage.authors
                else "Episodes go on over an epoch's end."
            )
        ),
        findings=[
            equivalent(judged, own_horizon),
            far(judged),
            close_to_oracle(judged),
            more_efficient(sets),
        ],
        comparisons=[*compared(found, epochs), *errors(judged, settings)],
        pictures=[
            picture("training", "Figure 5, left: the mean return of episodes within each epoch.", mean_curves, WITHIN),
            picture("validation", "Figure 5, right: validation after each epoch.", mean_curves, RETURN),
            picture("lengths", "Figure 7, right: the length of validation episodes.", mean_curves, LENGTH),
            picture("value", "The value of the policy after each epoch, exact.", mean_curves, VALUE),
            picture("queues", "What the paper leaves out: QBE, its value of the policy.", queues, VALUE),
            one_by_one("validation-runs", "Figure 6: validation, run by run.", first, RETURN),
            one_by_one("lengths-runs", "Figure 7: lengths of validation episodes, run by run.", first, LENGTH),
        ],
        tables=[
            Table(
                "published",
                f"The paper's table by its own rules: completed epochs, and the RMSE of validation over "
                f"{PUBLISHED_EPOCHS} epochs, means over surviving runs.",
                published_table(found, epochs),
            ),
            Table("headline", "Ours: the value of the policy on one log, over the steps that all runs reached.",
                  headline_table(sets, settings)),
            Table(
                "own-logs",
                f"Ours, with a log of {settings.own_rows:,} rows for each run: noise taken off, at a margin of a "
                "tenth of the range of the real curve.",
                judged,
            ),
        ],
    )  # fmt: skip


def performed(work: Work, wanted: list[tuple[str, str]]) -> dict[tuple[str, str], Runs]:
    """All sets, several at a time: the ten runs of a set are one batch, which one worker trains."""
    workers = 1 if work.stage.quick else min(work.stage.workers or n_cores(), len(wanted))
    backend = in_turn if workers == 1 else in_processes
    made: dict[tuple[str, str], Runs] = {}
    with progress_bar("sets of runs", len(wanted), None) as report:
        for what, runs in backend(work, wanted, workers):
            made[what] = runs
            report(len(made))
    return made


# The paper's table.


def published(runs: Runs, real: Runs, settings: Settings) -> Fidelity:
    """Fidelity by the paper's rules: validation over the same epochs in every row, means over survivors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CensoringWarning)  # that is the rule
        return us.fidelity(runs, real, RETURN, horizon=PUBLISHED_EPOCHS * settings.epoch_steps)


def completed_epochs(runs: Runs, first: Runs, settings: Settings) -> float:
    """Efficiency by the paper's rules: the median number of completed epochs, as far as runs were continued."""
    median = float(np.median(runs.lengths // settings.epoch_steps))
    return median if median < settings.many_epochs else float(np.median(first.lengths // settings.epoch_steps))


def published_table(found: Mapping[str, Fidelity], epochs: Mapping[str, float]) -> Columns:
    """The paper's table with its numbers beside ours."""
    none = (None, None)
    return {
        "simulation": [REAL, *found],
        "efficiency, the paper": ["∞", *(_text(PAPERS.get(name, none)[0]) for name in found)],
        "efficiency, ours": ["∞", *(f"{epochs[name]:g}" for name in found)],
        "fidelity, the paper": [0.0, *(PAPERS.get(name, none)[1] for name in found)],
        "fidelity, ours": [0.0, *(one.rmse for one in found.values())],
        "noise floor": [None, *(one.floor for one in found.values())],
        "runs alive at the end, %": [None, *(100 * one.alive for one in found.values())],
    }


def _text(number: float | None) -> str | None:
    return None if number is None else f"{number:g}"


def compared(found: Mapping[str, Fidelity], epochs: Mapping[str, float]) -> list[Comparison]:
    """The rows of the paper's table."""
    rows = []
    for name, (efficiency, fidelity) in PAPERS.items():
        one = found[name]
        dead = "" if one.alive == 1 else f"{1 - one.alive:.0%} of runs had stopped"
        rows += [
            Comparison(f"{name}, efficiency (epochs)", efficiency, epochs[name]),
            Comparison(f"{name}, fidelity over {PUBLISHED_EPOCHS} epochs", fidelity, one.rmse, one.floor, note=dead),
        ]
    return rows


# Ours.


def errors(judged: Columns, settings: Settings) -> list[Comparison]:
    """The debiased errors, which the paper has none of."""
    return [
        Comparison(
            f"{name}, error over {line['horizon'] // settings.epoch_steps} epochs, a log for each run",
            None, line["debiased error"], interval=line["95 %"], floor=line["noise floor"], note=line["verdict"],
        )
        for name, line in by_set(judged).items()
        if line["debiased error"] is not None
    ]  # fmt: skip


def headline_table(sets: Mapping[str, Runs], settings: Settings) -> Columns:
    """How long, and how close over the steps that all runs reached."""
    lengths = {name: us.efficiency(sets[name]) for name in SETS}
    close = {name: us.fidelity(sets[name], sets[REAL], VALUE) for name in SETS}
    return {
        "set": list(SETS),
        "runs": [one.n_runs for one in lengths.values()],
        "steps, median": [one.steps for one in lengths.values()],
        "quartiles": [one.quartiles for one in lengths.values()],
        "rows looked at per step": [one.rows_per_step for one in lengths.values()],
        "what ran out, mostly": [next(iter(one.stops)) for one in lengths.values()],
        "horizon, epochs": [one.horizon // settings.epoch_steps for one in close.values()],
        "RMSE": [one.rmse for one in close.values()],
        "noise floor": [one.floor for one in close.values()],
        "max error": [one.max_error for one in close.values()],
    }


def by_set(judged: Columns) -> dict[str, dict[str, Any]]:
    """A table's lines by their sets."""
    lines = zip(*judged.values(), strict=True)
    return {line[0]: dict(zip(judged, line, strict=True)) for line in lines}


def error_of(line: Mapping[str, Any]) -> str:
    """The debiased error in words."""
    if line["95 %"] is None:
        return f"{line['set']}: undecided"
    low, high = line["95 %"]
    return f"{line['set']} {line['debiased error']:.3f} ({low:.3f} to {high:.3f}, {line['verdict']})"


def equivalent(judged: Columns, epochs: int) -> Finding:
    """Whether replay by true states, and by Forward's, is equivalent to real, by a test that rejects a baseline."""
    lines = by_set(judged)
    verdicts = [lines[name]["verdict"] for name in EXACT]
    holds: bool | None = None
    if "different" in verdicts:
        holds = False
    elif all(verdict == "equivalent" for verdict in verdicts) and lines["obs-only"]["verdict"] == "different":
        holds = True
    return Finding(
        "Latent PSRS “faithfully reconstructs learning curves of the real, online PPO agent” where states are right.",
        holds,
        f"With a log for each run, over {epochs} epochs, the error of the policy's value, noise taken off, with its "
        f"95 % interval, at a margin of {lines[EXACT[0]]['margin']:.2f}, a "
        f"tenth of the real curve's range: {'; '.join(error_of(lines[name]) for name in EXACT)}. The same test "
        f"finds {error_of(lines['obs-only'])}.",
    )


def far(judged: Columns) -> Finding:
    """Whether the baselines are far from real."""
    lines = by_set(judged)
    verdicts = [lines[name]["verdict"] for name in BASELINES]
    return Finding(
        "“All other baselines, despite being efficient, are far from accurate simulations.”",
        True if set(verdicts) == {"different"} else False if "equivalent" in verdicts else None,
        f"Errors as above: {'; '.join(error_of(lines[name]) for name in BASELINES)}.",
    )


def close_to_oracle(judged: Columns) -> Finding:
    """Whether the paper's encoder does as well as the true cells."""
    homer = by_set(judged)["PSRS-Homer"]
    return Finding(
        "“Despite the errors in the latent states from the learned encoder, it performs close to the oracle encoder, "
        "and both are close to the online PPO.”",
        {"equivalent": True, "different": False}.get(homer["verdict"]),
        f"Errors as above: {error_of(homer)}.",
    )


def more_efficient(sets: Mapping[str, Runs]) -> Finding:
    """PSRS against QBE, which the paper left out here."""
    ratios = {
        encoder: ratio_of_medians(sets[f"PSRS-{encoder}"], sets[f"QBE-{encoder}"])
        for encoder in (points.ORACLE, points.HOMER, points.FORWARD)
    }
    lows, highs = [low for _, (low, _) in ratios.values()], [high for _, (_, high) in ratios.values()]
    told = [
        f"{ratio:.2f} with {name}'s states ({low:.2f} to {high:.2f})" for name, (ratio, (low, high)) in ratios.items()
    ]
    return Finding(
        "PSRS “was shown to be more efficient than QBE”; the paper does not show it for PPO.",
        True if min(lows) > 1 else False if max(highs) < 1 else None,
        f"Median lengths on one log, PSRS / QBE: {listed(told)}.",
    )  # fmt: skip


def picture(name: str, caption: str, sets: Mapping[str, Runs], probe: str) -> Picture:
    """Mean curves."""
    n = len(sets[REAL])
    caption = f"{caption} Means of {n} runs on one log with 1.96 standard errors; dashed where some had stopped."
    close = [key for key in sets if key not in BASELINES]
    figure = with_zoom(sets, probe, REAL, close=close, looks=LOOKS, log_scale=probe == LENGTH)
    return Picture(name, caption, figure, curve_columns(sets, probe))


def one_by_one(name: str, caption: str, sets: Mapping[str, Runs], probe: str) -> Picture:
    """Single runs."""
    ordered = {key: sets[key] for key in (REAL, *SETS)}
    caption = f"{caption} The thick line is the mean of a set, the black one that of the real runs."
    columns: dict[str, list[Any]] = {"set": [], "run": [], "step": [], probe: []}
    for key, runs in ordered.items():
        for number, run in enumerate(runs):
            columns["set"] += [key] * len(run.steps)
            columns["run"] += [number] * len(run.steps)
            columns["step"] += run.steps.tolist()
            columns[probe] += run.curves[probe].tolist()
    epoch = int(sets[REAL][0].steps[0])
    figure = curves_of_runs(ordered, probe, REAL, looks=LOOKS, epoch=epoch, log_scale=probe == LENGTH)
    return Picture(name, caption, figure, columns)
