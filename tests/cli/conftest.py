"""Logs in files, the flags that read them, and results folders."""

import shutil

import gymnasium
import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.cli import main

BANDIT = "page,arm,paid,p,q,visit,ts,shop\n" + "".join(
    f"{row % 3},{'true' if row % 2 else 'false'},{row % 2},{0.3 + 0.1 * (row % 2)},{0.7 - 0.1 * (row % 2)},"
    f"{10**19 + row},{row},{'north' if row % 4 else 'south'}\n"
    for row in range(40)
)


@pytest.fixture(scope="session")
def log():
    return us.record(us.envs.Grid(slip=0.1), episodes=60, seed=3)


@pytest.fixture
def events(log, tmp_path):
    """The same log as a CSV with column names of its own."""
    frame = pd.DataFrame({"trip": log.episode, "cell": log.observation, "move": log.action, "paid": log.reward})
    frame["cell_after"], frame["home"] = log.next_observation, log.terminated
    for action in range(5):
        frame[f"p{action}"] = log.propensity[:, action]
    frame.to_csv(tmp_path / "events.csv", index=False)
    return tmp_path / "events.csv"


@pytest.fixture
def columns():
    """The flags for the columns of `events`."""
    return [
        "--observation", "cell", "--action", "move", "--reward", "paid", "--terminated", "home", "--episode", "trip",
        "--propensity", "p0", "p1", "p2", "p3", "p4", "--next-observation", "cell_after",
    ]  # fmt: skip


@pytest.fixture
def floats(tmp_path):
    us.write(us.record(us.envs.ContinuousGrid(), episodes=30, seed=0), tmp_path / "floats.parquet")
    return tmp_path / "floats.parquet"


@pytest.fixture(scope="session")
def cartpole(tmp_path_factory):
    """A log of CartPole, whose observations lead on each in its own way."""
    path = tmp_path_factory.mktemp("cartpole") / "cartpole.parquet"
    us.write(us.record(gymnasium.make("CartPole-v1"), episodes=300, seed=0), path)
    return path


@pytest.fixture
def bandit(tmp_path):
    """A CSV of decisions by themselves: no column tells of episodes, and ids are beyond int64."""
    (tmp_path / "bandit.csv").write_text(BANDIT)
    return tmp_path / "bandit.csv"


@pytest.fixture(scope="session")
def rehearsed(log, tmp_path_factory):
    """The arguments of a rehearsal, and its folder, for all to copy."""
    folder = tmp_path_factory.mktemp("rehearsed")
    us.write(log, folder / "log.parquet")
    arguments = ["simulate", str(folder / "log.parquet"), "--runs", "2", "--out", str(folder / "out")]
    assert main(arguments) == 0
    return arguments, folder / "out"


@pytest.fixture
def results(rehearsed, tmp_path):
    """The same in a folder of one's own."""
    shutil.copytree(rehearsed[1], tmp_path / "out")
    return [*rehearsed[0][:-1], str(tmp_path / "out")], tmp_path / "out"


@pytest.fixture
def refused(capsys):
    """A function that runs a command, and returns its one line on standard error once it ended with exit code 2."""

    def run(*arguments):
        assert main([str(argument) for argument in arguments]) == 2
        message = capsys.readouterr().err.strip()
        assert message.startswith("understudy: ")
        assert "\n" not in message
        return message

    return run


@pytest.fixture
def clicks(tmp_path):
    """A CSV of decisions whose contexts are numbers that never repeat, with the propensity of the chosen action."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 2))
    p = 1 / (1 + np.exp(-x[:, 0]))
    arm = (rng.random(600) < p).astype(int)
    frame = pd.DataFrame({"x0": x[:, 0], "x1": x[:, 1], "arm": arm, "p": np.where(arm, p, 1 - p)})
    frame["click"] = (rng.random(600) < 0.3 + 0.4 * (arm == (x[:, 1] > 0))).astype(int)
    frame.to_csv(tmp_path / "clicks.csv", index=False)
    return tmp_path / "clicks.csv"


@pytest.fixture
def mails(tmp_path):
    """A CSV of 600 mails: a click depends on segment, device and mail; `customer` is another one in each row."""
    rng, n = np.random.default_rng(3), 600
    segment, device, mail = rng.choice(["new", "old"], n), rng.choice(["phone", "desk"], n), rng.choice(["a", "b"], n)
    liked = ((segment == "new") == (device == "phone")) == (mail == "a")
    click = (rng.random(n) < np.where(liked, 0.9, 0.1)).astype(int)
    columns = zip(segment, device, mail, click, strict=True)
    lines = [f"c{number},{s},{d},{m},{c},0.5" for number, (s, d, m, c) in enumerate(columns)]
    (tmp_path / "mails.csv").write_text("\n".join(["customer,segment,device,mail,click,prob", *lines]))
    return tmp_path / "mails.csv"
