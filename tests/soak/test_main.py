import json

import pytest

from soak import __main__ as command


def test_a_part_is_recorded_and_shown(tmp_path, capsys):
    file = tmp_path / "record.json"
    code = command.main(["inputs", "--inputs", "30", "--only", "vw", "--workers", "1", "--record", str(file)])
    assert code == 0
    found = json.loads(file.read_text())["inputs"]
    assert sum(found["counts"]["vw"].values()) == 30
    assert (found["seed"], found["wrong"]) == (0, [])
    assert "| vw | 30 |" in capsys.readouterr().out


def test_a_case_is_repeated(capsys):
    assert command.main(["--case", "vw:3"]) == 0
    assert capsys.readouterr().out.startswith("vw:3 (seed 0): ")


def test_an_unknown_part_is_refused(capsys):
    with pytest.raises(SystemExit, match="2"):
        command.main(["fire"])
    assert "there is no part fire" in capsys.readouterr().err


def test_what_went_wrong_is_said_and_is_the_exit_code(tmp_path, monkeypatch, capsys):
    found = {"counts": {"vw": {"crash": 1}}, "wrong": [{"kind": "vw", "number": 7}], "peak": 0}
    monkeypatch.setattr(command, "run_part", lambda *_: found)
    assert command.main(["inputs", "--record", str(tmp_path / "record.json")]) == 1
    assert "inputs: {'kind': 'vw', 'number': 7}" in capsys.readouterr().out
