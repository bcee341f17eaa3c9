"""Simulators, which decide the row that comes next, and the true environment that they are compared with."""

from understudy.simulators.exogenous import exo_psrs
from understudy.simulators.model import model
from understudy.simulators.real import real
from understudy.simulators.row_by_row import actions_only, any_row, psrs, qbe, states_only
from understudy.simulators.whole_episodes import pers, replay

__all__ = ["actions_only", "any_row", "exo_psrs", "model", "pers", "psrs", "qbe", "real", "replay", "states_only"]
