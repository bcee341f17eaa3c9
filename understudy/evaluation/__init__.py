"""How long the log could answer, how far to believe it, and how sets of runs compare."""

from understudy.errors import CensoringWarning
from understudy.evaluation.curves import MeanCurve, curve_table, mean_curve, run_table
from understudy.evaluation.earnings import Earnings, earnings
from understudy.evaluation.efficiency import Efficiency, efficiency
from understudy.evaluation.fidelity import Fidelity, fidelity
from understudy.evaluation.halves import Halves, halves
from understudy.evaluation.intervals import Interval
from understudy.evaluation.learned_policies import LearnedPolicy, off_policy_of_learner
from understudy.evaluation.luck import luck_of_logs, on_few_logs, one_log_floor
from understudy.evaluation.off_policy import OffPolicy, off_policy
from understudy.evaluation.ratios import Ratio, ratio_of_medians, ratio_of_spreads
from understudy.evaluation.rung_use import RungUse, rung_use
from understudy.evaluation.trusted import Trusted

__all__ = [
    "CensoringWarning",
    "Earnings",
    "Efficiency",
    "Fidelity",
    "Halves",
    "Interval",
    "LearnedPolicy",
    "MeanCurve",
    "OffPolicy",
    "Ratio",
    "RungUse",
    "Trusted",
    "curve_table",
    "earnings",
    "efficiency",
    "fidelity",
    "halves",
    "luck_of_logs",
    "mean_curve",
    "off_policy",
    "off_policy_of_learner",
    "on_few_logs",
    "one_log_floor",
    "ratio_of_medians",
    "ratio_of_spreads",
    "run_table",
    "rung_use",
]
