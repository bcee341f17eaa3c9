import tomllib
from pathlib import Path

import paper
from paper import reproducing

ROOT = Path(__file__).parents[2]


def test_the_wheel_holds_the_library_alone():
    """That no module of the library needs the paper is a contract of import-linter."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["understudy"]
    assert Path(paper.__file__).parent == ROOT / "paper"
    assert project["tool"]["importlinter"]["contracts"][0]["layers"][0] == "paper"


def test_every_item_is_a_module_with_a_title_and_both_forms():
    for name in reproducing.ITEMS:
        text = (ROOT / "paper" / f"{name}.py").read_text(encoding="utf-8")
        assert "\nTITLE = " in text
        assert "\ndef run(workspace: Workspace) -> Item:" in text
