"""Pictures of curves, all of them of runs: the demo, horizons, the luck of a log, a model that flatters."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import understudy as us
from benchmarks.beyond.tables import frozen_lake
from benchmarks.pictures.svg_file import of_figure
from understudy.demo import demo as run_demo
from understudy.reporting.axes import canvas, style_axes
from understudy.reporting.drawing import draw_mean
from understudy.reporting.luck import with_luck
from understudy.reporting.svg import INK, MUTED, PALETTE, drawn_alike

BLUE, ORANGE, GREEN = PALETTE[:3]
WIDTH = 640


def drawn(picture: Callable[[], str]) -> Callable[[], str]:
    """Decorator: draw in the style of pages, whatever matplotlib is set to."""

    def in_style() -> str:
        with drawn_alike():
            return picture()

    return in_style


def name(axes: Any, step: float, value: float, words: str, color: str, **where: Any) -> None:
    """Write the name of a curve beside it."""
    axes.annotate(words, (step, value), color=color, fontsize=12, fontweight="bold", **where)


@drawn
def demo() -> str:
    """Return the picture that README begins with: the demo's simulated curve beside the real one."""
    with TemporaryDirectory() as folder:
        found = run_demo(Path(folder) / "report.html", tell=lambda text: None)
    simulated, real = found.runs["PSRS, latent states"], found.runs["real"]
    trusted = found.measured.trusted()["PSRS, latent states"]
    figure, place = canvas(WIDTH, 300)
    axes = place(56, 40, WIDTH - 76, 210)
    draw_mean(axes, us.mean_curve(simulated, "start value", 0.9), {"color": BLUE, "linewidth": 4.0}, 3)
    draw_mean(axes, us.mean_curve(real, "start value", 0.9), {"color": INK, "linewidth": 1.2}, 4)
    axes.axvline(trusted, color=MUTED, linewidth=1.2, linestyle=(0, (2, 2)), zorder=1)
    axes.annotate(
        f"believable up to\nstep {trusted:,},\nby the log alone", (trusted, 0.2), xycoords=("data", "axes fraction"),
        xytext=(6, 0), textcoords="offset points", va="center", color=MUTED, fontsize=12,
    )  # fmt: skip
    style_axes(axes, 6)
    axes.set(xlim=(0, 1.3 * trusted), xlabel="step")
    axes.set_title("what the learner expects an episode to be worth", loc="left", color=MUTED, pad=14)
    for height, words, color in ((0.86, "simulated, from the log", BLUE), (0.76, "real", INK)):
        axes.annotate(words, (0.12, height), xycoords="axes fraction", color=color, fontsize=12, fontweight="bold")
    return of_figure(
        figure, "A simulated learning curve beside the real one",
        f"Q-learning rehearsed on {len(found.log):,} logged rows, beside the same learner in the true environment: the "
        f"curves coincide. The log alone says that it can be believed up to step {trusted:,}.",
    )  # fmt: skip


GRID = us.envs.Grid(slip=0.2)


def worth(learner: Any) -> float:
    """Return what an episode is worth to the learner's policy of this moment, exactly."""
    return float(GRID.values(np.array([learner.policy(cell) for cell in range(25)]), 0.95)[0])


@drawn
def horizons() -> str:
    """Return the picture of one log's horizons: trusted, exact and longest."""
    log = us.record(GRID, episodes=200, seed=0)
    make = lambda seed: us.learners.QLearning(25, 5, epsilon=0.2, alpha=0.2, gamma=0.95, seed=seed)  # noqa: E731
    options: dict[str, Any] = {"probes": {"worth": worth}, "every": 50, "progress": False}
    found = us.halves(us.psrs(log), make, runs=100, **options)
    runs, trusted = found.runs, found.trusted("worth")
    exact, longest = runs.horizon(0.9), int(runs.lengths.max())
    real = us.experiment(us.real(GRID), make, runs=400, max_steps=longest, **options)
    figure, place = canvas(WIDTH, 400)
    above = place(56, 62, WIDTH - 80, 208)
    below = place(56, 314, WIDTH - 80, 44, sharex=above)
    draw_mean(above, us.mean_curve(real, "worth"), {"color": INK, "linewidth": 1.2}, 3)
    draw_mean(above, found_curve(found), {"color": BLUE, "linewidth": 2.4}, 4)
    style_axes(above, 6)
    above.set(xlim=(0, 1.02 * longest))
    above.set_title("what the learner's policy is worth", loc="left", color=MUTED, pad=30)
    above.tick_params(labelbottom=False)
    for step, words, side in (
        (trusted, "trusted", "center"),
        (exact, "exact", "center"),
        (longest, "longest", "right"),
    ):
        for axes in (above, below):
            axes.axvline(step, color=MUTED, linewidth=1.2, linestyle=(0, (2, 2)), zorder=1)
        where: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "ha": side, "color": INK, "fontsize": 12}
        above.annotate(f"{words}: {step:,}", (step, 1.04), **where)
    name(above, 900, -1.0, "simulated, and real (thin)", BLUE, xytext=(-16, 6), textcoords="offset points", ha="right")
    steps = np.arange(0, longest + 1, 10)
    shares = (runs.lengths[None, :] >= steps[:, None]).mean(axis=1)
    below.fill_between(steps, 0, 100 * shares, color=BLUE, alpha=0.35, linewidth=0)
    style_axes(below, 6)
    below.set(ylim=(0, 104), yticks=[0, 100], xlabel="step")
    below.set_title("runs still going, %", loc="left", color=MUTED, pad=6)
    return of_figure(
        figure, "A learning curve with its trusted, exact and longest horizon",
        f"100 runs on 200 logged episodes. Halves of the log agree with the whole up to step {trusted:,}; nine of ten "
        f"runs reach step {exact:,}; the longest run has {longest:,} steps. Beyond the exact horizon the mean is one "
        "of survivors, drawn dashed. The real curve lies within the band.",
    )  # fmt: skip


def found_curve(found: us.Halves) -> Any:
    """Return the mean curve of runs with halves, whose band includes the luck of the log."""
    return with_luck(us.mean_curve(found.runs, "worth", 0.9), found.runs, "worth", 0.9)


def earned(progress: Any) -> float:
    """Return what an episode has earned so far, on average."""
    return float(np.mean(progress.returns)) if len(progress.returns) else float("nan")


FIRST = 500
"""The first step of the picture of luck: before it, few episodes are over."""


@drawn
def luck() -> str:
    """Return the picture of the luck of a log: runs on one log, beside runs that have a log each."""
    make = lambda seed: us.learners.QLearning(25, 5, epsilon=0.9, alpha=0.1, gamma=0.95, seed=seed)  # noqa: E731
    options: dict[str, Any] = {"probes": {"earned": us.probes.History(earned)}, "every": 50, "progress": False}
    options |= {"max_steps": 1400}
    on_one = us.experiment(us.psrs(us.record(GRID, episodes=30, seed=0)), make, runs=30, **options)
    on_own = us.experiment(lambda seed: us.psrs(us.record(GRID, episodes=30, seed=seed)), make, runs=30, **options)
    real = us.mean_curve(us.experiment(us.real(GRID), make, runs=1000, **options), "earned", 0.5)
    last = min(on_one.horizon(), on_own.horizon())
    figure, place = canvas(WIDTH, 320)
    left = place(48, 52, 272, 218)
    right = place(352, 52, 272, 218, sharey=left)
    for axes, runs, title in (
        (left, on_one, "30 runs on one log"),
        (right, on_own, "30 runs, each on a log of its own"),
    ):
        steps, values = runs.curve("earned")
        shown = (steps >= FIRST) & (steps <= last)
        axes.plot(steps[shown], values[:, shown].T, color=BLUE, linewidth=0.9, alpha=0.45)
        axes.plot(steps[shown], values[:, shown].mean(axis=0), color=BLUE, linewidth=2.6)
        axes.plot(steps[shown], real.mean[: len(steps)][shown], color=INK, linewidth=2.2)
        style_axes(axes, 4)
        axes.set(xlim=(FIRST, last), ylim=(-17, -3), xlabel="step")
        axes.set_title(title, loc="left", color=INK, pad=12)
    right.tick_params(labelleft=False)
    name(left, last - 10, -10.9, "the truth", INK, ha="right")
    name(left, last - 10, -5.4, "mean of the runs", BLUE, ha="right")
    figure.text(4 / WIDTH, 1 - 18 / 320, "what an episode earned so far, on average", color=MUTED)
    return of_figure(
        figure, "Runs on one log resemble each other more than runs on logs of their own",
        "Left, 30 runs that share one log of 30 episodes lie close together, above the true mean. Right, 30 runs that "
        "have a log each are spread around it.",
    )  # fmt: skip


@drawn
def flattering() -> str:
    """Return the picture of a model made from a log, in which a learner learns faster than in truth."""
    lake = us.envs.FiniteEnv(frozen_lake(), max_episode_steps=100)
    make = lambda seed: us.learners.QLearning(16, 4, epsilon=0.1, alpha=0.1, gamma=0.99, seed=seed)  # noqa: E731
    options: dict[str, Any] = {"runs": 200, "probes": {"earned": us.probes.episode_returns}, "progress": False}
    on_logs = lambda simulator, episodes: lambda seed: simulator(us.record(lake, episodes=episodes, seed=seed))  # noqa: E731
    long = options | {"max_steps": 20_000, "every": 500}
    curves = {
        "model of 300 episodes": us.experiment(on_logs(us.model, 300), make, **long),
        "model of 1,000 episodes": us.experiment(on_logs(us.model, 1000), make, **long),
        "the truth": us.experiment(us.real(lake), make, **long),
    }
    exact = us.experiment(on_logs(us.psrs, 300), make, **options)
    figure, place = canvas(WIDTH, 320)
    axes = place(56, 52, WIDTH - 250, 216)
    for (words, runs), color in zip(curves.items(), (ORANGE, GREEN, INK), strict=True):
        curve = us.mean_curve(runs, "earned", 0.9)
        draw_mean(axes, curve, {"color": color, "linewidth": 2.0}, 3)
        name(axes, curve.steps[-1], curve.mean[-1], words, color, xytext=(10, -4), textcoords="offset points",
             annotation_clip=False)  # fmt: skip
    end = int(np.median(exact.lengths))
    axes.plot([end], [0.0], "D", color=BLUE, markersize=8, zorder=9, clip_on=False)
    arrow = {"arrowstyle": "-", "color": BLUE, "shrinkA": 2, "shrinkB": 6}
    name(
        axes,
        end,
        0.0,
        f"exact replay of 300 episodes\nends at step {end:,}",
        BLUE,
        xytext=(6600, 0.02),
        arrowprops=arrow,
    )
    style_axes(axes, 5)
    axes.set(xlim=(0, 20_000), ylim=(0, None), xlabel="step")
    axes.set_title("episodes that reach the goal", loc="left", color=MUTED, pad=14)
    return of_figure(
        figure, "A learner in a model of the log earns more than in truth",
        "Q-learning on a slippery lake, means of 200 runs. In a model made of 300 logged episodes it reaches the goal "
        "far more often than in the true environment, in a model of 1,000 a little more often. Exact replay of 300 "
        f"episodes ends at step {end:,}, half of its runs before.",
    )  # fmt: skip
