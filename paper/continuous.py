"""Figures 4, 5 and 10 to 12: PPO on continuous observations, under true states, learned ones and three baselines."""

from collections.abc import Mapping

from paper import continuous_claims as claims
from paper import continuous_tables as tables
from paper.continuous_grid import FORWARD, GAMMA, HOMER
from paper.continuous_runs import (
    BASELINES,
    DRAWN,
    FIRST,
    FULL,
    LENGTH,
    LONG,
    MANY,
    OWN,
    POINTS,
    QUEUES,
    QUICK,
    REAL,
    REPLAYED,
    RETURN,
    SETS,
    TRAINED,
    VALUE,
    WITHIN,
    RunSets,
    make_sets,
    without_and_with_training,
)
from paper.curve_figures import paired_looks, with_zoom
from paper.fidelity_and_efficiency import fidelity_and_efficiency_picture
from paper.items import Item, ItemTable, Picture
from paper.set_tables import curve_columns, run_columns
from paper.workspace import Workspace
from understudy.reporting.figures import curves_of_runs
from understudy.runs import Runs

TITLE = "PPO on continuous observations (Figures 4, 5 and 10 to 12)"

LOOKS = paired_looks((REAL, *SETS), REAL)


def run(workspace: Workspace) -> Item:
    """Run PPO in the true grid and under each simulator, on one log as in the paper and with a log for each run."""
    settings = workspace.settings(FULL, QUICK)
    run_sets = RunSets(workspace, settings)
    longer = settings.runs > FIRST
    tasks = [(MANY, REAL), (LONG, REAL), (LONG, POINTS)] + [(LONG, name) for name in SETS]
    tasks += [(OWN, name) for name in SETS] + [(MANY, name) for name in BASELINES if longer]
    longest_first = sorted(tasks, key=lambda task: task[1] not in (REAL, *BASELINES))
    early, late = without_and_with_training(longest_first)
    made = make_sets(run_sets, [(TRAINED, HOMER), *early, (TRAINED, FORWARD)])
    made |= make_sets(run_sets, late)
    first = {name: made[LONG, name][:FIRST] for name in (REAL, *SETS)}
    sets = {name: made[MANY if longer and name in BASELINES else LONG, name] for name in SETS}
    own = {name: made[OWN, name] for name in SETS}
    real = made[MANY, REAL]

    found = {name: tables.published(sets[name], real, settings) for name in SETS}
    epochs = {name: tables.completed_epochs(made[LONG, name], settings) for name in SETS}
    judged, rows = tables.judgements(own, real, settings), len(run_sets.ready.log)
    mean_curves = {name: first[name] for name in (*DRAWN, REAL)}
    queues = {name: first[name] for name in (*REPLAYED, *QUEUES, REAL)}
    return Item(
        about=(
            f"A log of {rows:,} rows of the uniform policy, PPO with epochs of {settings.epoch_steps:,} "
            f"steps, {settings.runs} runs of each set on that log"
            + (f"; of baselines the first {FIRST} go to {settings.epochs} epochs and the others to "
               f"{settings.many_epochs}" if longer else f", up to {settings.epochs} epochs")
            + f"; {len(real)} real runs to compare with. Validation is 10 episodes of the stochastic policy in the "
            f"true grid, discounted by {GAMMA}; the value of the policy is what infinitely many would "
            "earn, found by linear equations. Homer is the paper's encoder, Forward ours; obs-only is keyed by Homer's "
            "states. Encoders were trained on the log they are used on, except in the runs with logs of their own. "
            + (
                "An epoch's end abandons the episode, and the log is read in row order, as in the published code."
                if workspace.authors
                else "Episodes go on over an epoch's end."
            )
        ),
        claims=[
            *claims.faithful(judged),
            claims.right_states(judged),
            claims.baselines_are_far(judged),
            claims.close_to_oracle(judged),
            claims.impractical(made[LONG, POINTS]),
            claims.inversely_correlated(first[REAL]),
            claims.more_efficient(own, settings),
        ],
        comparisons=[*tables.compared(found, epochs), *tables.errors(judged, settings)],
        pictures=[
            picture("training", "Figure 5, left: the mean return of episodes within each epoch.", mean_curves, WITHIN),
            picture("validation", "Figures 5, right, and 12, left: validation after each epoch.", mean_curves, RETURN),
            picture("lengths", "Figure 12, right: the length of validation episodes.", mean_curves, LENGTH),
            picture("value", "The value of the policy after each epoch, exact.", mean_curves, VALUE),
            picture("queues", "What the paper leaves out: QBE (long dashes), its value of the policy.", queues, VALUE),
            fidelity_and_efficiency_picture(
                "Figure 4, right, over the epochs that all reached", own, judged["own-logs"], LOOKS
            ),
            one_by_one("training-runs", "The mean return of episodes within each epoch, run by run.", first, WITHIN),
            one_by_one("validation-runs", "Figure 10: validation, run by run.", first, RETURN),
            one_by_one("lengths-runs", "Figure 11: lengths of validation episodes, run by run.", first, LENGTH),
        ],
        tables=[
            ItemTable(
                "published",
                "The paper's table (Figure 4, right) by its own measures, on our runs: completed epochs, and the RMSE "
                f"of validation over {tables.PUBLISHED_EPOCHS} epochs, means over surviving runs.",
                tables.published_table(found, epochs),
            ),
            ItemTable(
                "headline",
                "Ours: how long on one log, and how far from real, in the value of the policy, over the epochs that "
                "all runs of all sets reached.",
                tables.headline_table(sets, real, settings),
            ),
            *(
                ItemTable(name, f"Ours, a log of {rows:,} rows for each run, noise taken off: {caption}.", table)
                for (name, caption), table in zip(tables.JUDGED.items(), judged.values(), strict=True)
            ),
        ],
    )  # fmt: skip


def picture(name: str, caption: str, sets: Mapping[str, Runs], probe: str) -> Picture:
    """The picture of mean curves."""
    n = len(sets[REAL])
    caption = f"{caption} Means of {n} runs on one log with 1.96 standard errors; dashed where some had stopped."
    close = [key for key in sets if key not in BASELINES]
    figure = with_zoom(sets, probe, REAL, close=close, looks=LOOKS, log_scale=probe == LENGTH)
    return Picture(name, caption, figure, curve_columns(sets, probe))


def one_by_one(name: str, caption: str, sets: Mapping[str, Runs], probe: str) -> Picture:
    """The picture of single runs."""
    ordered = {key: sets[key] for key in (REAL, *SETS)}
    caption = f"{caption} The thick line is the mean of a set, the black one that of the real runs."
    epoch = int(sets[REAL][0].steps[0])
    figure = curves_of_runs(ordered, probe, REAL, looks=LOOKS, epoch=epoch, log_scale=probe == LENGTH)
    return Picture(name, caption, figure, run_columns(ordered, probe))
