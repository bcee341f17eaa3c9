"""Where a log's propensities came from, and what to do where those of all actions are not known, in a sentence."""

from typing import TYPE_CHECKING

from understudy.logs.propensities.recognition import hint

if TYPE_CHECKING:
    from understudy.logs.log import Log


def source_words(log: "Log") -> str:
    """Return where a log's propensities came from, as the end of a sentence: "none" where there are none."""
    if log.propensity is None:
        return "none"
    return f"{log.propensity_source}{', of the chosen action only' if log.propensity.ndim == 1 else ''}"


def next_moves(log: "Log") -> str:
    """Return what can be done where only the chosen action's propensities were logged, or none, best first."""
    moves = ["use qbe, which needs none"]
    if log.propensity is None:
        moves.append("name the columns that hold them with propensity=")
    if log.propensity is not None and log.n_episodes == len(log):
        moves.append("use us.replay(log), which needs the chosen action's only")
    moves.append("give those of the policy that acted with log.with_propensities(...)")
    others = "the others" if log.propensity is not None else "them"
    moves.append(f"estimate {others} with us.estimate_propensities(log), which cannot see what was not logged")
    said = "" if log.propensity is None else hint(log.propensity, log.spec.n_actions, log.spec.actions is not None)
    return (f"{said}; " if said else "") + ", or ".join(moves)
