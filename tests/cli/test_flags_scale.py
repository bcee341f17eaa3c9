import argparse

import understudy as us
from understudy.cli import main
from understudy.cli.flags_scale import add_on_disk, given_on_disk
from understudy.envs import Grid
from understudy.logs.on_disk import is_log_folder


def test_the_flag_is_given_to_read_and_else_nothing_is():
    parser = argparse.ArgumentParser()
    add_on_disk(parser)
    assert given_on_disk(parser.parse_args([])) == {}
    assert given_on_disk(parser.parse_args(["--on-disk", "folder"])) == {"on_disk": "folder"}
    assert given_on_disk(argparse.Namespace()) == {}


def test_commands_work_on_a_log_on_disk_and_say_the_same(tmp_path, capsys):
    us.write(us.record(Grid(), episodes=40, seed=0), tmp_path / "log.parquet")
    folder = str(tmp_path / "log")
    said = []
    for arguments in ([str(tmp_path / "log.parquet")], [str(tmp_path / "log.parquet"), "--on-disk", folder], [folder]):
        assert main(["check", "--json", *arguments]) == 0
        said.append(capsys.readouterr().out)
    assert is_log_folder(folder)
    assert said[0] == said[1] == said[2]
