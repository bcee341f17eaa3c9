"""The simulators that go through a log row by row, as users make them: QBE, PSRS and the trivial baselines."""

from collections.abc import Sequence
from typing import Any

from understudy.contracts import Encoder, Likeness, Log
from understudy.errors import SettingError
from understudy.likeness import suited
from understudy.simulators.index import Index
from understudy.simulators.index_on_disk import index
from understudy.simulators.kernels import layout
from understudy.simulators.ladder import LadderReplay, checked_rungs, supported_rungs
from understudy.simulators.options import LOG_LIMIT, option_code, require_propensities
from understudy.simulators.replay import OWN, PROPENSITIES, STATE_MEAN, Replay


def psrs(
    log: Log,
    encoder: Encoder | None = None,
    *,
    reserve: bool = False,
    propensity: str = OWN,
    order: str = "episodes",
    openings: str = "queue",
    max_episode_steps: int | str | None = LOG_LIMIT,
    then: Sequence[str] = (),
    likeness: Likeness | None = None,
    radius: float | None = None,
    max_cut: float | None = None,
    cut_window: int | None = None,
    audit: bool = True,
) -> Replay | LadderReplay:
    """Per-state rejection sampling: rows of the current state, accepted as often as the learner takes their action.

    Needs the propensities of all actions. The action of a served step is distributed exactly as the policy says.

    With `reserve=True` rows that were not accepted are kept, since nobody has seen their outcomes, and serve later
    steps in their state: as exact, and longer for policies that change.

    Where several loggers recorded the log, or one that drifted, `propensity="state mean"` compares the policy with the
    mean propensities of all rows of the state instead of each row's "own". More rows are accepted, and an action need
    only be possible for one of the loggers. It is for `order="rows"` alone, where any row of the state may come next,
    and exact up to an error of one over the number of rows of a state.

    Other options: `order` of the log, "episodes" (exact), "rows" (the paper's shuffle) or "log" (for adaptive loggers);
    `openings` from a "queue", which can end the run, or by "replacement", which is counted; `max_episode_steps`, the
    simulator's own time limit, by default the log's.

    `then` and the options after it are as for `qbe`: where a state has no answer, an action is drawn, and rows that
    were not accepted are looked through first; so a ladder has a reserve in any case.
    """
    require_propensities(log, "psrs")
    options: dict[str, Any] = {"order": order, "openings": openings, "max_episode_steps": max_episode_steps}
    options["reserve"] = bool(option_code("reserve", reserve, {False: 0, True: 1}))
    if option_code("propensity", propensity, PROPENSITIES) and order != "rows":
        raise SettingError(
            f'propensity="{STATE_MEAN}" needs order="rows": in order="{order}" rows of one logger follow each other, '
            "and their actions are not distributed as the mean says"
        )
    options |= {"propensity": propensity, "accept": layout.REJECTION}
    rungs = {"then": then, "likeness": likeness, "radius": radius, "max_cut": max_cut, "cut_window": cut_window}
    return with_rungs("psrs", index(log, encoder, propensities=True), options, rungs, audit)


def qbe(
    log: Log,
    encoder: Encoder | None = None,
    *,
    stop: str = "predictable",
    order: str = "episodes",
    openings: str = "queue",
    max_episode_steps: int | str | None = LOG_LIMIT,
    then: Sequence[str] = (),
    likeness: Likeness | None = None,
    radius: float | None = None,
    max_cut: float | None = None,
    cut_window: int | None = None,
    audit: bool = True,
) -> Replay | LadderReplay:
    """Queue-based evaluation: draw the action from the policy, then take the oldest row of the state that has it.

    Needs no propensities. With `stop="predictable"` a run ends as soon as an action the learner *may* take has no row
    left, so that whether a step is served does not depend on the drawn action; with "plain", only when the drawn action
    has none: runs on short logs are longer then, and favor actions that were logged often. Other options as for `psrs`.

    `then` names what is tried where a state has no row left with the drawn action, in order:

    - "like": the oldest unused row with that action among all states within `radius` of this one, as `likeness` says
      (see `us.likeness`). Rows are still served once; what they smooth over is the price.
    - "reuse": any row of the state with that action, served before or not. Learners can exploit noise that they meet
      again, so results flatter where outcomes vary.
    - "untried": where the state never logged the action, any row of states alike with it, served before or not.
    - "cut", last: the episode ends there, and the next one begins. The run ends when more than `max_cut` of any
      `cut_window` episodes in a row would be cut (by default .02 of 100). By that alone, the chance of anything that
      happens in an episode is off by at most the share that was cut: in runs shorter than a window it may be larger
      than `max_cut`, and `Run.cuts` counts.

    Without a `radius`, `us.likeness.audit` finds one on this log; "like" and "untried" are left out where it finds
    none, and "reuse" where outcomes of a state and action vary. `simulator.ladder` has the rungs that are left and
    `simulator.audit` says why; with `audit=False` all are used as given.

    `Run.rungs` says which of them served each step, `Run.cuts` where episodes were cut, and `Run.exact_steps` how far
    none of them was needed. With a ladder, `stop` has no effect: an action is drawn, and then a row is looked for.
    With "reuse" or "untried", runs need `max_steps`, and openings come back once all were used.
    """
    options: dict[str, Any] = {"order": order, "openings": openings, "max_episode_steps": max_episode_steps}
    options |= {"accept": layout.DRAWN_ACTION, "stop": stop}
    rungs = {"then": then, "likeness": likeness, "radius": radius, "max_cut": max_cut, "cut_window": cut_window}
    return with_rungs("qbe", index(log, encoder), options, rungs, audit)


def with_rungs(
    name: str, indexed: Index, options: dict[str, Any], rungs: dict[str, Any], audit: bool
) -> Replay | LadderReplay:
    """Return the simulator, with a ladder where rungs are named; those that the log does not support are left out.

    Raise `SettingError` where an option is given, and none of the rungs that it is for.
    """
    refuse_unused_options(rungs)
    if not rungs["then"]:
        return Replay(name, indexed, **options)
    if options["accept"] == layout.REJECTION:
        options = options | {"reserve": True}
    if rungs["likeness"] is None and rungs["radius"] is not None:
        rungs = rungs | {"likeness": suited(indexed.log)}
    asked = (rungs[option] for option in ("then", "likeness", "radius"))
    rungs = rungs | (supported_rungs(indexed, *asked) if audit else {})
    return LadderReplay(name, indexed, **rungs, **options)


OPTIONS_OF_RUNGS = {
    ("likeness", "radius"): (("like", "untried"), "rows of states alike"),
    ("max_cut", "cut_window"): (("cut",), "episodes that are cut"),
}
"""Options of rungs, the rungs that use them, and what they are for."""


def refuse_unused_options(rungs: dict[str, Any]) -> None:
    """Raise `SettingError` for an option that none of the named rungs uses: it would silently change nothing."""
    then = checked_rungs(rungs["then"]) if rungs["then"] else ()
    for options, (users, what) in OPTIONS_OF_RUNGS.items():
        for option in options:
            if rungs[option] is not None and not set(then) & set(users):
                named = f"then={then!r} has neither" if len(users) > 1 else f"then={then!r} has no"
                missing = f"{named} {' nor '.join(map(repr, users))}" if then else "no rung is named"
                raise SettingError(
                    f"{option}= is for {what}, and {missing}; give then=('like', 'cut'), or leave {option}= out"
                )


def states_only(
    log: Log,
    encoder: Encoder | None = None,
    *,
    order: str = "episodes",
    openings: str = "queue",
    max_episode_steps: int | str | None = LOG_LIMIT,
) -> Replay:
    """A baseline: the next row of the current state, whatever its action. Options as for `psrs`."""
    options: dict[str, Any] = {"order": order, "openings": openings, "max_episode_steps": max_episode_steps}
    return Replay("states_only", index(log, encoder), accept=layout.ALWAYS, **options)


def actions_only(
    log: Log,
    encoder: Encoder | None = None,
    *,
    order: str = "rows",
    openings: str = "queue",
    max_episode_steps: int | str | None = LOG_LIMIT,
) -> Replay:
    """A baseline: any row, whatever its state, accepted by its action. Row order only; else options as for `psrs`."""
    require_propensities(log, "actions_only")
    options: dict[str, Any] = {"order": require_row_order("actions_only", order), "openings": openings}
    options["max_episode_steps"] = max_episode_steps
    indexed = index(log, encoder, propensities=True)
    return Replay("actions_only", indexed, accept=layout.REJECTION, by_state=False, **options)


def any_row(
    log: Log,
    encoder: Encoder | None = None,
    *,
    order: str = "rows",
    openings: str = "queue",
    max_episode_steps: int | str | None = LOG_LIMIT,
) -> Replay:
    """A baseline: any row, whatever its state and action. Row order only; else options as for `psrs`."""
    options: dict[str, Any] = {"order": require_row_order("any_row", order), "openings": openings}
    options["max_episode_steps"] = max_episode_steps
    return Replay("any_row", index(log, encoder), accept=layout.ALWAYS, by_state=False, **options)


def require_row_order(name: str, order: str) -> str:
    """Return "rows"; raise `SettingError` for another order, in which the log itself would be replayed."""
    if order != "rows":
        raise SettingError(f"{name} has no states: in order={order!r} it would replay the log itself; use order='rows'")
    return order
