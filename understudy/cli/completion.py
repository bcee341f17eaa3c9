"""`understudy completion`: a script that lets a shell complete commands, flags and the values of flags."""

import argparse
from typing import NamedTuple

from understudy.cli.telling import keep_for_json
from understudy.cli.values import LEARNERS

SHELLS = ("bash", "zsh", "fish")
COMPLETED = {"--learner": LEARNERS}
"""Values that are completed, of flags that take others, too."""


class CommandFlags(NamedTuple):
    """A command, its flags, and the values of those that have a choice."""

    name: str
    help: str
    flags: dict[str, tuple[str, ...]]  # the values to choose from, none where any will do


def add_completion(parser: argparse.ArgumentParser) -> None:
    """Add the command to a parser that has all others."""
    command = subcommands(parser).add_parser("completion", help="a script with which a shell completes commands")
    command.add_argument("shell", choices=SHELLS, help='for bash and zsh: eval "$(understudy completion bash)"')
    command.set_defaults(command=run_completion, parser=parser)


def subcommands(parser: argparse.ArgumentParser) -> "argparse._SubParsersAction[argparse.ArgumentParser]":
    """Return what a parser keeps of its commands."""
    return next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))


def run_completion(options: argparse.Namespace) -> int:
    """Run `understudy completion`, and return its exit code."""
    found = script(options.shell, commands_of(options.parser))
    keep_for_json(options, shell=options.shell, script=found)
    print(found, end="")
    return 0


def commands_of(parser: argparse.ArgumentParser) -> list[CommandFlags]:
    """Return the commands of a parser, with their flags."""
    commands = subcommands(parser)
    helps = {one.dest: one.help or "" for one in commands._choices_actions}
    return [CommandFlags(name, helps.get(name, ""), flags_of(one)) for name, one in commands.choices.items()]


def flags_of(parser: argparse.ArgumentParser) -> dict[str, tuple[str, ...]]:
    """Return the long flags of one command, each with the values that it can have."""
    return {
        flag: COMPLETED.get(flag, ()) if action.choices is None else tuple(map(str, action.choices))
        for action in parser._actions
        for flag in action.option_strings
        if flag.startswith("--")
    }


def script(shell: str, commands: list[CommandFlags]) -> str:
    """Return the script for a shell. Names and values are ours, so none needs quoting."""
    return {"bash": bash, "zsh": zsh, "fish": fish}[shell](commands)


def bash(commands: list[CommandFlags]) -> str:
    """Return the script for bash: to be evaluated in ~/.bashrc."""
    cases, values = [], []
    for command in commands:
        cases.append(f'    {command.name}) words="{" ".join(command.flags)}" ;;')
        values += [
            f'    {command.name}:{flag}) words="{" ".join(choices)}" ;;'
            for flag, choices in command.flags.items()
            if choices
        ]
    names = " ".join(command.name for command in commands)
    return "\n".join(
        [
            "# eval \"$(understudy completion bash)\"",
            "_understudy() {",
            '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words=""',
            "  if [ \"$COMP_CWORD\" -eq 1 ]; then",
            f'    COMPREPLY=($(compgen -W "{names} --help --version" -- "$word")); return',
            "  fi",
            '  case "${COMP_WORDS[1]}:$before" in',
            *values,
            "  esac",
            '  if [ -z "$words" ] && [ "${word#-}" != "$word" ]; then',
            '  case "${COMP_WORDS[1]}" in',
            *cases,
            "  esac; fi",
            '  if [ -n "$words" ]; then COMPREPLY=($(compgen -W "$words" -- "$word"))',
            '  else COMPREPLY=($(compgen -f -- "$word")); fi',
            "}",
            "complete -o filenames -F _understudy understudy",
            "",
        ]
    )  # fmt: skip


def zsh(commands: list[CommandFlags]) -> str:
    """Return the script for zsh, which reads that for bash."""
    return "autoload -U +X bashcompinit && bashcompinit\n" + bash(commands)


def fish(commands: list[CommandFlags]) -> str:
    """Return the script for fish: to be sourced in its configuration."""
    lines = ["# understudy completion fish | source"]
    for command in commands:
        words = command.help.replace("'", "")
        lines.append(f"complete -c understudy -n __fish_use_subcommand -a {command.name} -d '{words}'")
        for flag, choices in command.flags.items():
            given = f" -x -a '{' '.join(choices)}'" if choices else ""
            lines.append(f"complete -c understudy -n '__fish_seen_subcommand_from {command.name}' -l {flag[2:]}{given}")
    return "\n".join([*lines, ""])
