"""What to do where a log lacks the propensities of all actions, in the words of Python."""

from typing import TYPE_CHECKING

from understudy.logs.propensities.recognition import hint

if TYPE_CHECKING:
    from understudy.logs.log import Log


def next_moves(log: "Log") -> str:
    """Return what can be done where only the chosen action's propensities were logged, or none, best first."""
    moves = ["use qbe, which needs none"]
    if log.propensity is not None and log.n_episodes == len(log):
        moves.append("or us.replay(log), which needs the chosen action's only")
    others = "the others" if log.propensity is not None else "them"
    moves.append("give those of the policy that acted with log.with_propensities(...)")
    if log.propensity is not None and not (log.propensity_source and log.propensity_source.is_sampled):
        moves.append("say n_samples= if they are shares of draws of it")
    moves.append(f"or estimate {others} with us.estimate_propensities(log), which cannot see what was not logged")
    said = "" if log.propensity is None else hint(log.propensity, log.spec.n_actions)
    return (f"{said}; " if said else "") + ", ".join(moves)
