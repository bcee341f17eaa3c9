"""Acting and learning, compiled: `knows`, `act` and `learn` work on the arrays of every learner that offers them.

Which kernel serves which learner is settled by the type of its arrays when the calling loop is compiled.
"""

from numba.extending import overload

from understudy.contracts.compiling import MERGED
from understudy.learners import fixed, frozen, tabular

KNOWS = {frozen.Frozen: frozen.is_known}
ACT = {
    fixed.Table: fixed.look_up,
    fixed.Ledger: fixed.look_up_first,
    tabular.Values: tabular.explore,
    frozen.Frozen: frozen.recall,
}
LEARN = {
    fixed.Table: fixed.ignore,
    fixed.Ledger: fixed.book,
    tabular.Values: tabular.update,
    frozen.Frozen: frozen.note_down,
}


def knows(arrays, code):
    """Whether the policy at an observation, given by its code, can be told at once."""
    return KNOWS.get(type(arrays), frozen.always)(arrays, code)


def act(arrays, code, policy):
    """Write the policy at an observation, given by its code."""
    ACT[type(arrays)](arrays, code, policy)


def learn(arrays, code, action, reward, next_code, terminated, truncated):
    """Take in one step."""
    LEARN[type(arrays)](arrays, code, action, reward, next_code, terminated, truncated)


@overload(knows, jit_options=MERGED)
def _knows(arrays, code):
    if hasattr(arrays, "instance_class"):
        kernel = KNOWS.get(arrays.instance_class, frozen.always)
        return lambda arrays, code: kernel(arrays, code)
    return None


@overload(act, jit_options=MERGED)
def _act(arrays, code, policy):
    if hasattr(arrays, "instance_class"):
        kernel = ACT[arrays.instance_class]
        return lambda arrays, code, policy: kernel(arrays, code, policy)
    return None


@overload(learn, jit_options=MERGED)
def _learn(arrays, code, action, reward, next_code, terminated, truncated):
    if hasattr(arrays, "instance_class"):
        kernel = LEARN[arrays.instance_class]

        def compiled(arrays, code, action, reward, next_code, terminated, truncated):
            kernel(arrays, code, action, reward, next_code, terminated, truncated)

        return compiled
    return None
