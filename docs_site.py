"""What the documentation site needs beside its pages: the reference, made from the list of public names."""

import inspect
import re
from importlib import import_module
from types import ModuleType
from typing import Any

import griffe
from mkdocs.structure.files import File, Files

import understudy as us

ROOMS = {
    "logs": "Logs",
    "simulators": "Simulators",
    "learners": "Learners",
    "encoders": "Encoders",
    "likeness": "Likeness",
    "runs": "Runs",
    "evaluation": "Evaluation",
    "trust": "Trust",
    "sweeps": "Sweeps",
    "reporting": "Pages and plots",
    "envs": "Environments",
    "contracts": "Contracts",
    "testing": "Checks of parts",
    "errors": "Errors",
}
"""The rooms whose public names have a page each, and its title."""


def reference(room: str, title: str) -> str:
    """Return the Markdown of a room's page: every public name, as its docstring explains it."""
    inside = import_module(f"understudy.{room}")
    names = sorted({*vars(inside).get("__all__", ()), *us._HOMES.get(room, ())}, key=str.lower)
    return "\n\n".join([f"# {title}", *(f"::: {path_of(inside, name)}" for name in names)]) + "\n"


def path_of(inside: ModuleType, name: str) -> str:
    """Return where a name is defined: `simulators.model` is a function, and also the module that it is in."""
    found = getattr(inside, name)
    if isinstance(found, ModuleType):
        return found.__name__
    home = inspect.getmodule(found)
    return f"{inside.__name__ if home is None or not home.__name__.startswith('understudy') else home.__name__}.{name}"


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the API reference to those in docs/."""
    for room, title in ROOMS.items():
        files.append(File.generated(config, f"reference/{room}.md", content=reference(room, title)))
    return files


EXAMPLE = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)
"""An example in a docstring: from the prompt to the next empty line."""


class Examples(griffe.Extension):
    """Makes code blocks of the examples in docstrings, which Markdown would take for quotations."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Change the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", obj.docstring.value)
