"""The tree is as CONTRIBUTING.md says: tests mirror the source, and one name is one class."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODULES = sorted(path.relative_to(ROOT) for room in ("understudy", "paper") for path in (ROOT / room).rglob("*.py"))


def mirror_of(module):
    """The file that tests a module: understudy/logs/ends.py is tested by tests/logs/test_ends.py."""
    folder = Path(*module.parts[1:-1]) if module.parts[0] == "understudy" else Path(*module.parts[:-1])
    name = module.stem.strip("_") if module.stem == "__main__" else module.stem
    return ROOT / "tests" / folder / f"test_{name}.py"


def test_every_module_has_the_file_that_tests_it():
    missing = [str(module) for module in MODULES if module.stem != "__init__" and not mirror_of(module).exists()]
    assert not missing


def test_a_class_has_a_name_of_its_own():
    homes = defaultdict(list)
    for module in MODULES:
        for node in ast.walk(ast.parse((ROOT / module).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(str(module))
    assert {name: where for name, where in homes.items() if len(where) > 1 and name != "Settings"} == {}
    assert all(where.startswith("paper/") for where in homes["Settings"])  # one for each item, by the same name


def test_modules_are_short_enough_to_be_read():
    """What is longer is about two things, or is named here with a reason."""
    lengths = {str(module): (ROOT / module).read_text(encoding="utf-8").count("\n") for module in MODULES}
    assert {module: n for module, n in lengths.items() if n > 350} == {}


def test_every_test_has_a_condition():
    """A test without assert, raises, warns or a check of its own cannot fail."""
    speaking = ("assert", "raises", "warns", "check", "testing", "survive", "refused", "damaged_", "exec(", "ends_well")
    silent = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        lines = source.split("\n")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                words = "\n".join(lines[node.lineno - 1 : node.end_lineno])
                if not any(word in words.split(":", 1)[1] for word in speaking):
                    silent.append(f"{path.name}::{node.name}")
    assert not silent
