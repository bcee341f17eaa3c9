"""How long exact runs are on the logs of the panel, and how much of the learning they see."""

import numpy as np

import understudy as us
from benchmarks.beyond.problems import PANEL, QUIET, sized_cases

LOGS = 5
RUNS = 20
cases = sized_cases

PROTOCOL = f"""
Exact runs on logs of three sizes: median steps of {RUNS} runs on each of {LOGS} logs, QBE and PSRS, up to the length
of a run in the last column. Where observations never repeat the simulator's states are boxes (*continuous grid*,
three by three in each of its cells) or single observations (*CartPole*). Problems that log numbers have observations
whose distances mean something; the others log codes.
"""


def measure(case, number):
    name, size = case
    problem = PANEL[name]
    log = problem.log(size, number)
    simulators = {"qbe": us.qbe(log, problem.world.encoder), "psrs": us.psrs(log, problem.world.encoder)}
    return {"rows": len(log)} | {
        kind: float(
            np.median(us.experiment(simulator, problem.make, runs=RUNS, max_steps=problem.steps[size], **QUIET).lengths)
        )
        for kind, simulator in simulators.items()
    }


def table(results):
    lines = ["| problem | log shows | episodes | rows | QBE | PSRS | run |", "|---|---|--:|--:|--:|--:|--:|"]
    given = cases()
    for case, found in results.items():
        name, size = given[case]
        problem = PANEL[name]
        rows, qbe, psrs = (f"{np.median([log[key] for log in found]):,.0f}" for key in ("rows", "qbe", "psrs"))
        shows = "numbers" if problem.world.has_numbers else "codes"
        cells = [name, shows, f"{problem.sizes[size]:,}", rows, qbe, psrs, f"{problem.steps[size]:,}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
