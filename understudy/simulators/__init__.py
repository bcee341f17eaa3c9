"""Which row comes next: simulators, and the true environment they are measured against."""

from understudy.simulators.exogenous import exo_psrs
from understudy.simulators.model import model
from understudy.simulators.real import real
from understudy.simulators.replay import actions_only, any_row, psrs, qbe, states_only

__all__ = ["actions_only", "any_row", "exo_psrs", "model", "psrs", "qbe", "real", "states_only"]
