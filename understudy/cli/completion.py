"""`understudy completion`: a script that lets a shell complete commands, flags and the values of flags."""

import argparse
from typing import NamedTuple

from understudy.cli.flags import ENCODERS
from understudy.cli.telling import keep_for_json
from understudy.cli.values import LEARNERS, RUNGS

SHELLS = ("bash", "zsh", "fish")
COMPLETED = {"--learner": LEARNERS, "--then": RUNGS, "--encoder": ENCODERS}
"""Values that are completed, of flags that take others, too."""

OR_FILE = "--encoder"
"""The flag that takes a file in place of a name."""


class CommandFlags(NamedTuple):
    """A command, its flags and the values of those that have a choice, and the choice of its argument."""

    name: str
    help: str
    flags: dict[str, tuple[str, ...]]  # the values to choose from, none where any will do
    argument: tuple[str, ...]


def add_completion(parser: argparse.ArgumentParser) -> None:
    """Add the command to a parser that has all others."""
    command = subcommands(parser).add_parser("completion", help="a script with which a shell completes commands")
    command.add_argument(
        "shell",
        choices=SHELLS,
        help='in ~/.bashrc: eval "$(understudy completion bash)"; in ~/.zshrc: eval "$(understudy completion zsh)"; '
        "in ~/.config/fish/config.fish: understudy completion fish | source",
    )
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
    return [
        CommandFlags(name, helps.get(name, ""), flags_of(one), argument_of(one))
        for name, one in commands.choices.items()
    ]


def flags_of(parser: argparse.ArgumentParser) -> dict[str, tuple[str, ...]]:
    """Return the long flags of one command, each with the values that it can have."""
    return {
        flag: COMPLETED.get(flag, ()) if action.choices is None else tuple(map(str, action.choices))
        for action in parser._actions
        for flag in action.option_strings
        if flag.startswith("--")
    }


def argument_of(parser: argparse.ArgumentParser) -> tuple[str, ...]:
    """Return what the first argument of a command can be; empty where it is a file or a folder."""
    choices = [action.choices for action in parser._actions if not action.option_strings]
    return tuple(map(str, choices[0] or ())) if choices else ()


def script(shell: str, commands: list[CommandFlags]) -> str:
    """Return the script for a shell. Names and values are ours, so none needs quoting."""
    return {"bash": bash, "zsh": zsh, "fish": fish}[shell](commands)


def bash(commands: list[CommandFlags]) -> str:
    """Return the script for bash: to be evaluated in ~/.bashrc."""
    return "\n".join(
        [
            '# eval "$(understudy completion bash)"',
            "_understudy() {",
            '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" found="" list=""',
            f'  if [ "$COMP_CWORD" -eq 1 ]; then found="{_names(commands)}"; else',
            '  case "${COMP_WORDS[1]}:$before" in',
            *_values(commands),
            "  esac; fi",
            '  if [ -z "$found" ] && [ "${word#-}" != "$word" ]; then case "${COMP_WORDS[1]}" in',
            *_flags(commands),
            "  esac; fi",
            '  if [ "${word%,*}" != "$word" ]; then list="${word%,*},"; fi',
            '  COMPREPLY=($(compgen -P "$list" -W "$found" -- "${word##*,}"))',
            f'  if [ -z "$found" ] || [ "$before" = {OR_FILE} ]; then',
            "    local IFS=$'\\n'; COMPREPLY+=($(compgen -f -- \"$word\"))",
            "  fi",
            "}",
            "complete -o filenames -F _understudy understudy",
            "",
        ]
    )


def zsh(commands: list[CommandFlags]) -> str:
    """Return the script for zsh: to be evaluated in ~/.zshrc, where it loads the completions of zsh if need be."""
    return "\n".join(
        [
            '# eval "$(understudy completion zsh)"',
            "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }",
            "_understudy() {",
            '  local before="${words[CURRENT-1]}" found=""',
            f'  if (( CURRENT == 2 )); then found="{_names(commands)}"; else',
            '  case "${words[2]}:$before" in',
            *_values(commands),
            "  esac; fi",
            '  if [[ -z "$found" && "$PREFIX" == -* ]]; then case "${words[2]}" in',
            *_flags(commands),
            "  esac; fi",
            f'  if [[ -z "$found" || "$before" == {OR_FILE} ]]; then _files; fi',
            '  if [[ -n "$found" ]]; then compset -P "*,"; compadd -- ${=found}; fi',
            "}",
            "compdef _understudy understudy",
            "",
        ]
    )


def _names(commands: list[CommandFlags]) -> str:
    """Return what the first word can be."""
    return " ".join([*(command.name for command in commands), "--help", "--version"])


def _values(commands: list[CommandFlags]) -> list[str]:
    """Return the lines of a case, for bash and zsh, with what can follow a command or one of its flags."""
    return [
        f'    {command.name}:{before}) found="{" ".join(choices)}" ;;'
        for command in commands
        for before, choices in {command.name: command.argument, **command.flags}.items()
        if choices
    ]


def _flags(commands: list[CommandFlags]) -> list[str]:
    """Return the lines of a case, for bash and zsh, with the flags of each command."""
    return [f'    {command.name}) found="{" ".join(command.flags)}" ;;' for command in commands]


def fish(commands: list[CommandFlags]) -> str:
    """Return the script for fish: to be sourced in its configuration."""
    lines = ["# understudy completion fish | source"]
    for command in commands:
        words = command.help.replace("'", "")
        within = f"complete -c understudy -n '__fish_seen_subcommand_from {command.name}'"
        lines.append(f"complete -c understudy -n __fish_use_subcommand -a {command.name} -d '{words}'")
        if command.argument:
            lines.append(f"{within} -f -a '{' '.join(command.argument)}'")
        for flag, choices in command.flags.items():
            several = f"(__fish_append , {' '.join(choices)})" if flag == "--then" else " ".join(choices)
            given = f" -{'r' if flag == OR_FILE else 'x'} -a '{several}'" if choices else ""
            lines.append(f"{within} -l {flag[2:]}{given}")
    return "\n".join([*lines, ""])
