import numpy as np
import pytest

import understudy as us
from understudy.cli import main
from understudy.errors import SettingError

TABLE = {"observation": [0, 1, 0], "action": [0, 1, 1], "energy_cost": [0.5, 0.0, 2.0]}


def rules_of(audit):
    return {(finding.severity, finding.rule) for finding in audit.findings}


def test_costs_are_rewards_with_their_signs_changed(tmp_path):
    log = us.read(TABLE, cost="energy_cost", ends="every-row")
    np.testing.assert_array_equal(log.reward, [-0.5, 0.0, -2.0])
    assert not np.signbit(log.reward[1])
    assert ("note", "cost") in rules_of(us.check(log))
    us.write(log, tmp_path / "log.parquet")
    again = us.read(tmp_path / "log.parquet")
    np.testing.assert_array_equal(again.reward, log.reward)
    on_disk = us.read(tmp_path / "log.parquet", cost="reward", on_disk=tmp_path / "disk")
    np.testing.assert_array_equal(on_disk.reward, [0.5, 0.0, 2.0])


def test_a_reward_that_is_named_like_a_cost_is_a_warning():
    def warned(name, values=(0.5, 0.0, 2.0)):
        table = {"observation": [0, 1, 0], "action": [0, 1, 1], name: list(values)}
        return ("warning", "reward-is-cost") in rules_of(us.check(us.read(table, reward=name, ends="every-row")))

    assert warned("energy_cost")
    assert warned("Loss")
    assert not warned("accosted")
    assert not warned("clicks")
    assert not warned("cost", (-0.5, 0.0, -2.0))  # of these, more is better
    assert not warned("cost", (0, 0, 0))


def test_one_of_both_is_given():
    with pytest.raises(SettingError, match="reward= and cost= are both given"):
        us.read(TABLE, reward="energy_cost", cost="energy_cost", ends="every-row")


def test_the_command_line_has_costs_and_leads_to_them(tmp_path, capsys):
    (tmp_path / "log.csv").write_text("observation,action,cost\n" + "0,0,1\n1,1,0\n" * 20)
    command = ["check", str(tmp_path / "log.csv"), "--bandit"]
    assert main([*command, "--cost", "cost"]) == 0
    assert "with its sign changed" in " ".join(capsys.readouterr().out.split())
    assert main([*command, "--reward", "cost"]) == 0
    assert "give --cost in place of --reward if less of it is better" in " ".join(capsys.readouterr().out.split())
