import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from understudy.cli import main
from understudy.cli.values import RUNGS
from understudy.simulators.ladder import CHOICES


def in_bash(script, line):
    """What bash offers for the last word of a line."""
    words = line.split(" ")
    ask = f"COMP_WORDS=({' '.join(repr(word) for word in words)}); COMP_CWORD={len(words) - 1}; _understudy; "
    return told_by("bash", "-c", f'{script}\n{ask} printf "%s\\n" "${{COMPREPLY[@]}}"').split("\n")[:-1]


def in_zsh(script, line):
    """What zsh offers, started without any completions of its own, with the script evaluated as its help says."""
    Path("script.zsh").write_text(script)
    steps = [
        "zmodload zsh/zpty; zpty z zsh -f -i",
        "zpty -w z 'PS1=; source ./script.zsh; setopt no_beep'",
        'zpty -w z \'show() { compadd() { builtin compadd -O out "$@"; print -rl -- BEGIN $out END; '
        'builtin compadd "$@" }; zle complete-word; print ALL""SAID }; zle -N show; bindkey ^T show\'',
        "zpty -w z 'print REA\"\"DY'; zpty -r z told '*READY*'",
        f"zpty -w -n z {shlex.quote(line)}$'\\C-t'",
        "zpty -r z told '*ALLSAID*'; print -r -- $told",
    ]
    told = told_by("zsh", "-f", "-c", "\n".join(steps)).replace("\r", "")
    return [word for part in told.split("BEGIN\n")[1:] for word in part.split("\nEND")[0].split("\n")]


def in_fish(script, line):
    """What fish offers."""
    Path("script.fish").write_text(script)
    told = told_by("fish", "-c", f"source script.fish; complete -C {shlex.quote(line)}")
    return [one.partition("\t")[0] for one in told.splitlines()]


def told_by(*command):
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ | {"HOME": os.getcwd()})
    assert told.returncode == 0, told.stderr
    assert "command not found" not in told.stdout + told.stderr
    return told.stdout


@pytest.fixture
def script(capsys):
    assert main(["completion", "bash"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands_flags_values_and_files(shell, capsys, tmp_path, monkeypatch):
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    (tmp_path / "visits.csv").touch()
    (tmp_path / "boxed day.npz").touch()
    monkeypatch.chdir(tmp_path)
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out

    def completed(line):
        return {"bash": in_bash, "zsh": in_zsh, "fish": in_fish}[shell](script, line)

    assert completed("understudy si") == ["simulate"]
    assert {"--runs", "--reward", "--renormalize"} <= set(completed("understudy simulate visits.csv --r"))
    assert completed("understudy simulate visits.csv --simulator q") == ["qbe"]
    assert "visits.csv" in completed("understudy check vi")
    assert sorted(completed("understudy compare --learner lin")) == ["linear-thompson", "linucb"]
    assert completed("understudy simulate --then l") == ["like"]
    assert completed("understudy simulate --then like,c") in (["like,cut"], ["cut"])  # zsh has put "like," aside
    offered = completed("understudy simulate --encoder box")
    assert "boxes" in offered
    assert any(one.startswith("boxed") for one in offered)
    assert set(completed("understudy completion ")) >= {"bash", "zsh", "fish"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_all_commands(capsys, shell):
    assert main(["completion", shell]) == 0
    told = capsys.readouterr().out
    assert all(name in told for name in ("simulate", "compare", "forecast", "encoder", "psrs"))


def test_the_script_can_be_had_as_json(script, capsys):
    assert main(["completion", "bash", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"shell": "bash", "script": script}


def test_another_shell_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["completion", "tcsh"])
    assert "fish" in capsys.readouterr().err


def test_the_rungs_are_those_of_simulators():
    assert set(RUNGS) == set(CHOICES)


def test_help_says_how_each_shell_reads_its_script(capsys):
    with pytest.raises(SystemExit):
        main(["completion", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert 'in ~/.zshrc: eval "$(understudy completion zsh)"' in told
    assert "understudy completion fish | source" in told
