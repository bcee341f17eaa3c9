"""What users import is complete, opens when it is asked for, and type-checks from outside the package."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import understudy as us
from understudy import contracts, encoders, errors, learners

ROOT = Path(__file__).parents[1]

PROGRAM = """
import understudy as us

log: us.Log = us.read("events.parquet", action="arm")
encoder = us.encoders.Boxes(bins=3)
simulator = us.psrs(log, encoder)

def make(seed: int) -> us.Learner:
    return us.learners.QLearning(400, 5, epsilon=0.9, seed=seed)


runs = us.experiment(simulator, make, runs=3, probes={"value": us.probes.start_value(log)})
reveal_type(log)  # understudy.logs.log.Log
reveal_type(runs)  # understudy.runs.run.Runs
reveal_type(runs[0])  # understudy.runs.run.Run
reveal_type(runs[:2])  # understudy.runs.run.Runs
reveal_type(runs.about)  # understudy.runs.about.About
reveal_type(runs.about.log_rows)  # int | None
reveal_type(us.simulate(simulator, make(0), 0))  # understudy.runs.run.Run
reveal_type(us.efficiency(runs).steps)  # float
reveal_type(us.fidelity(runs, runs))  # understudy.evaluation.fidelity.Fidelity
reveal_type(us.earnings({"a": runs})["a"])  # understudy.evaluation.earnings.Earnings
reveal_type(us.check(log).ok)  # bool
reveal_type(us.report(runs))  # pathlib.Path
reveal_type(encoder.audit(log))  # understudy.encoders.state_audit.StateAudit
reveal_type(us.encoders.Forward(0))  # understudy.encoders.forward.Forward
reveal_type(us.learners.PPO(log.spec))  # understudy.learners.ppo.PPO
reveal_type(us.envs.Grid(3))  # understudy.envs.grid.Grid
reveal_type(us.contracts.Stop("max steps"))  # .Stop
reveal_type(us.load("out"))  # understudy.runs.run.Runs
reveal_type(us.simulate(us.replay(log, bound="running"), make(0), 0))  # understudy.runs.run.Run
reveal_type(us.experiment(us.pers(log), make, runs=2))  # understudy.runs.run.Runs
"""

STRICT = """
[[tool.mypy.overrides]]
module = ["program"]
disallow_any_generics = true
disallow_incomplete_defs = true
disallow_subclassing_any = true
disallow_untyped_calls = true
disallow_untyped_defs = true
implicit_reexport = false
strict_equality = true
warn_return_any = true
"""

MISTAKES = """
us.psrss(log)  # has no attribute "psrss"
us.learners.QLerning(4, 2)  # has no attribute "QLerning"
us.encoders.Foward(0)  # has no attribute "Foward"
runs.about.sed  # has no attribute "sed"
us.experiment(simulator, us.learners.QLearning(400, 5))  # incompatible type "QLearning"
us.fidelity(runs)  # Missing positional argument "reference"
runs.to_frame(per="step")  # incompatible type "Literal['step']"
us.plots.learning_curves(runs, axes=None)  # Unexpected keyword argument "axes"
"""


def imports_for_checkers(module):
    """The names that a module imports for type checkers only."""
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    nodes = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name: node.module for node in nodes for alias in node.names}


def test_checkers_see_the_names_that_there_are():
    homes = {name: f"understudy.{home}" for name, home in us._NAMES.items()} | dict.fromkeys(us._ROOMS, "understudy")
    assert imports_for_checkers(us) == homes, "add the name both to _HOMES and to the imports above it"
    assert set(imports_for_checkers(learners)) == set(learners._EXTRAS)
    assert set(imports_for_checkers(encoders)) == set(encoders.EXTRAS)


@pytest.mark.parametrize("name", us.__all__)
def test_every_public_name_opens_and_is_listed(name):
    assert getattr(us, name) is not None
    assert name in dir(us)


def test_errors_warnings_and_protocols_are_public():
    raised = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert not raised - set(us.__all__)
    assert {"Learner", "LoopOwner", "Encoder", "Simulator", "Rehearsal"} <= set(us.__all__)
    assert us.contracts is contracts  # the others are there


def test_a_name_that_is_not_there_is_an_attribute_error():
    for module in (us, learners, encoders):
        with pytest.raises(AttributeError, match="has no attribute 'psrss'"):
            module.psrss  # noqa: B018


def test_importing_understudy_opens_no_room():
    code = "import sys, understudy; assert not [m for m in sys.modules if m.startswith(('understudy.runs', 'numba'))]"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_package_says_that_it_is_typed():
    assert (Path(us.__file__).parent / "py.typed").exists()


def expected(program):
    """The comment at the end of each line, by its number."""
    lines = program.splitlines()
    return {n: line.split("  # ")[1] for n, line in enumerate(lines, start=1) if "  # " in line}


def test_a_program_of_a_user_type_checks_and_its_mistakes_are_found(tmp_path):
    pytest.importorskip("mypy")
    path = tmp_path / "program.py"
    path.write_text(PROGRAM + MISTAKES, encoding="utf-8")
    config = tmp_path / "pyproject.toml"  # that of the package, so that what `mypy` found of it is not found again
    config.write_text((ROOT / "pyproject.toml").read_text(encoding="utf-8") + STRICT, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", f"--config-file={config}", "--no-error-summary", str(path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    first_mistake = PROGRAM.count("\n") + 2
    said = {}
    for line in run.stdout.splitlines():
        place, message = line.split(": ", 1)
        said.setdefault(int(place.split(":")[1]), []).append(message)
    comments = expected(PROGRAM + MISTAKES)
    for number, comment in comments.items():
        assert any(comment in message for message in said.pop(number, [])), (number, comment, run.stdout + run.stderr)
    assert not said, run.stdout
    assert min(int(line.split(":")[1]) for line in run.stdout.splitlines() if ": error: " in line) == first_mistake
