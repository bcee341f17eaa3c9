import json
import shutil
import subprocess

import pytest

from understudy.cli import main


def completed(script, line):
    """What bash offers for the last word of a line."""
    words = line.split(" ")
    ask = f"COMP_WORDS=({' '.join(repr(word) for word in words)}); COMP_CWORD={len(words) - 1}; _understudy; "
    told = subprocess.run(["bash", "-c", f'{script}\n{ask} printf "%s\\n" "${{COMPREPLY[@]}}"'], capture_output=True)
    assert told.returncode == 0, told.stderr
    return told.stdout.decode().split()


@pytest.fixture
def script(capsys):
    assert main(["completion", "bash"]) == 0
    return capsys.readouterr().out


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_flags_values_and_files(script, tmp_path, monkeypatch):
    (tmp_path / "visits.csv").touch()
    monkeypatch.chdir(tmp_path)
    assert completed(script, "understudy si") == ["simulate"]
    assert {"--runs", "--reward", "--renormalize"} <= set(completed(script, "understudy simulate visits.csv --r"))
    assert completed(script, "understudy simulate visits.csv --simulator q") == ["qbe"]
    assert completed(script, "understudy check vi") == ["visits.csv"]


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
