"""Acting and learning, compiled: `act` and `learn` work on the arrays of every learner that offers them.

Which kernel serves which learner is settled by the type of its arrays when the calling loop is compiled.
"""

from numba.extending import overload

from understudy.contracts.compiling import MERGED
from understudy.learners import fixed, tabular

ACT = {fixed.Table: fixed.look_up, fixed.Ledger: fixed.look_up_first, tabular.Values: tabular.explore}
LEARN = {fixed.Table: fixed.ignore, fixed.Ledger: fixed.book, tabular.Values: tabular.update}


def act(arrays, code, policy):
    """Write the policy at an observation, given by its code."""
    ACT[type(arrays)](arrays, code, policy)


def learn(arrays, code, action, reward, next_code, terminated, truncated):
    """Take in one step."""
    LEARN[type(arrays)](arrays, code, action, reward, next_code, terminated, truncated)


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
