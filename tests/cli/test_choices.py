from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.cli import main
from understudy.cli.choices import (
    columns_of,
    encoder_for,
    learner_for,
    read_log,
    round_number,
    shared_options,
    simulator_for,
    simulators_of,
    states_for,
)
from understudy.cli.flags import build_parser
from understudy.cli.settings_file import read_toml


def test_a_learned_encoder_is_audited_kept_and_not_fitted_again(floats, tmp_path, capsys, monkeypatch):
    arguments = ["simulate", str(floats), "--encoder", "kmeans", "--states", "20", "--out", str(tmp_path / "out")]
    arguments.append("--anyway")
    assert main([*arguments, "--runs", "2"]) == 0
    assert "KMeans(20, seed=0)" in capsys.readouterr().out
    kept = us.encoders.load(tmp_path / "out" / "encoder.npz")
    monkeypatch.delattr(us.encoders.KMeans, "fit")
    assert main([*arguments, "--runs", "3"]) == 0
    assert us.load(tmp_path / "out" / "psrs").about.n_states == kept.n_states == 20
    elsewhere = ["--encoder", str(tmp_path / "out" / "encoder.npz"), "--out", str(tmp_path / "other")]
    assert main(["simulate", str(floats), "--runs", "1", "--anyway", *elsewhere]) == 0


def test_an_encoder_of_a_file_is_remembered_by_what_is_in_it(floats, tmp_path, capsys):
    path, arguments = tmp_path / "boxes.npz", ["simulate", str(floats), "--anyway", "--out", str(tmp_path / "out")]
    arguments += ["--encoder", str(path)]
    for bins, runs, code in ((2, "1", 0), (2, "2", 0), (3, "2", 2)):
        us.encoders.Boxes(bins=bins).fit(us.read(floats)).save(path)
        capsys.readouterr()
        assert main([*arguments, "--runs", runs]) == code
    told = capsys.readouterr().err
    assert "holds another rehearsal: encoder_content is" in told
    assert len(told.splitlines()) == 1


@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_a_results_folder_keeps_the_encoder_of_a_file(command, floats, tmp_path, capsys, monkeypatch):
    """Its file of settings makes the same rows, whatever becomes of the original, and both commands go on there."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    path, log = tmp_path / "boxes.npz", us.read(floats)
    us.encoders.Boxes(bins=2).fit(log).save(path)
    arguments = [command, str(floats), "--encoder", "../boxes.npz", "--anyway", "--runs", "3", "--out", "out"]
    arguments += ["--no-selfcheck"]
    if command == "compare":
        arguments += ["--learner", "q-learning:epsilon=0.9", "--learner", "uniform", "--halves", "5"]
        arguments += ["--probe", "reward-so-far"]
    else:
        arguments += ["--quick"]
    assert main(arguments) == 0
    kept = tmp_path / "here" / "out" / "run.toml"
    assert read_toml(kept)["encoder"] == "encoder.npz"
    assert (tmp_path / "here" / "out" / "encoder.npz").read_bytes() == path.read_bytes()
    assert main(arguments) == 0
    us.encoders.Boxes(bins=3).fit(log).save(path)
    monkeypatch.chdir("/")
    assert main([command, str(kept), "--out", str(tmp_path / "again")]) == 0
    path.unlink()
    assert main([command, str(tmp_path / "again" / "run.toml"), "--out", str(tmp_path / "third")]) == 0
    assert main([command, str(kept)]) == 0
    name = "psrs" if command == "simulate" else "uniform"
    rows = [
        (folder / name / "runs" / "000000.parquet").read_bytes()
        for folder in (tmp_path / "here" / "out", tmp_path / "again", tmp_path / "third")
    ]
    assert rows[0] == rows[1] == rows[2]


def test_the_path_of_a_coding_is_not_a_setting_of_the_runs(bandit, tmp_path, capsys, monkeypatch):
    """The log's hash has the coding; the folder's file of settings names the same file by another path."""
    monkeypatch.chdir(tmp_path)
    columns = ["--observation", "shop", "--action", "arm", "--reward", "paid", "--propensity", "p", "q", "--bandit"]
    assert main(["convert", str(bandit), "may.parquet", *columns]) == 0
    more = ["--like", "may.parquet", "--quick", "--runs", "1", "--out", "out"]
    assert main(["simulate", str(bandit), *columns, *more]) == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert main(["simulate", "../out/run.toml"]) == 0, capsys.readouterr().err


def test_a_uniform_learner_goes_on_with_more_runs(floats, tmp_path):
    arguments = ["simulate", str(floats), "--learner", "uniform", "--anyway", "--out", str(tmp_path / "out")]
    for runs in ("1", "2"):
        assert main([*arguments, "--runs", runs]) == 0
    assert len(us.load(tmp_path / "out" / "psrs")) == 2


def test_an_encoder_that_is_neither_a_name_nor_a_file_is_refused(floats, tmp_path, capsys):
    assert main(["simulate", str(floats), "--encoder", "fourier", "--out", str(tmp_path / "out")]) == 2
    assert "there is no encoder 'fourier'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_ppo_needs_no_table(floats, tmp_path, capsys):
    arguments = ["simulate", str(floats), "--encoder", "boxes", "--learner", "ppo", "--epoch-steps", "200"]
    assert main([*arguments, "--runs", "2", "--workers", "1", "--anyway", "--out", str(tmp_path / "out")]) == 0
    runs = us.load(tmp_path / "out" / "psrs")
    assert runs.about.learner["class"] == "PPO"
    assert min(runs.lengths) > 200


def test_simulate_on_floats_cuts_them_into_boxes(tmp_path, capsys):
    log = us.record(us.envs.ContinuousGrid(), episodes=30, seed=0)
    us.write(log, tmp_path / "floats.parquet")
    arguments = ["simulate", str(tmp_path / "floats.parquet"), "--runs", "2", "--out", str(tmp_path / "out")]
    assert main(arguments) == 2
    assert "--encoder boxes" in capsys.readouterr().err
    assert main([*arguments, "--encoder", "boxes", "--bins", "5", "--anyway"]) == 0
    assert us.load(tmp_path / "out" / "psrs").about.n_states == 25


@pytest.mark.parametrize(
    ("learner", "kind"), [("q-learning", "QLearning"), ("expected-sarsa", "ExpectedSarsa"), ("uniform", "MonteCarlo")]
)
def test_the_learner_that_is_named_rehearses(events, tmp_path, learner, kind, columns):
    arguments = ["simulate", str(events), *columns, "--runs", "2", "--learner", learner, "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    assert us.load(tmp_path / "out" / "psrs").about.learner["class"] == kind
    assert f"{learner} rehearsed on events.csv" in (tmp_path / "out" / "report.html").read_text()


def test_short_logs_are_read_often_enough_for_a_curve(events, tmp_path, columns):
    main(["simulate", str(events), *columns, "--runs", "2", "--out", str(tmp_path / "out")])
    assert all(len(run.steps) > 20 for run in us.load(tmp_path / "out" / "psrs"))


def test_observations_of_several_whole_numbers_need_no_boxes(log, tmp_path):
    pairs = np.column_stack([log.observation % 5, log.observation // 5])
    following = np.column_stack([log.next_observation % 5, log.next_observation // 5])
    columns = {name: getattr(log, name) for name in ("action", "reward", "terminated", "episode", "propensity")}
    us.write(us.Log.from_columns(observation=pairs, next_observation=following, **columns), tmp_path / "pairs.parquet")
    arguments = ["simulate", str(tmp_path / "pairs.parquet"), "--runs", "2", "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    assert us.load(tmp_path / "out" / "psrs").about.learner["n_observations"] == 25


def test_readings_are_as_frequent_as_runs_are_short(log, tmp_path, capsys):
    """A rare state ends runs after a few of thousands of rows: readings a share of the log apart would draw nothing."""
    rare = us.Log.from_columns(
        observation=np.where(np.arange(len(log)) < 20, 99, log.observation), action=log.action, reward=log.reward,
        next_observation=log.next_observation, terminated=log.terminated, propensity=log.propensity,
    )  # fmt: skip
    us.write(rare, tmp_path / "rare.parquet")
    for name, arguments in {"rare": [], "asked": ["--every", "7"]}.items():
        out = tmp_path / name
        assert main(["simulate", str(tmp_path / "rare.parquet"), "--runs", "5", *arguments, "--out", str(out)]) == 0
    runs = us.load(tmp_path / "rare" / "psrs")
    assert runs.about.every <= max(1, runs.lengths.max() / 50)
    assert max(len(run.steps) for run in runs) >= min(20, runs.lengths.max())
    assert "has no curve" not in (tmp_path / "rare" / "report.html").read_text()
    assert us.load(tmp_path / "asked" / "psrs").about.every == 7


@pytest.mark.parametrize("path", ["", "x" * 5000, "nul\0", ".", "\ud800"])
def test_an_encoder_at_a_path_that_cannot_be_is_said(floats, tmp_path, path, refused):
    message = refused("simulate", floats, "--encoder", path, "--out", tmp_path / "out")
    assert "file that" in message
    assert not (tmp_path / "out").exists()


def options_of(*flags):
    """The options of `understudy simulate log.csv` with these flags."""
    run = dict.fromkeys(("demo", "check", "convert", "forecast", "simulate", "compare", "sweep", "report"))
    return build_parser(run).parse_args(["simulate", "log.csv", *flags])


def test_one_name_is_a_name_and_several_are_a_list():
    options = options_of("--observation", "x", "--propensity", "p", "q", "--actions", "a", "--n-actions", "3")
    expected = {"observation": "x", "propensity": ["p", "q"], "actions": ["a"], "n_actions": 3}
    assert columns_of(options) == expected


def test_a_folder_is_bound_to_its_log_and_learner_but_not_to_the_number_of_runs(log):
    one = shared_options(options_of("--runs", "3", "--workers", "1"), log)
    assert one == shared_options(options_of("--runs", "9", "--simulator", "qbe"), log)
    assert one["log"] == log.fingerprint
    for flags in (["--epsilon", "0.3"], ["--learner", "uniform"], ["--seed", "1"], ["--max-steps", "7"]):
        assert shared_options(options_of(*flags), log) != one


def test_a_learner_has_the_settings_of_its_flags(log):
    flags = ["--learner", "q-learning", "--epsilon", "0.2", "--alpha", "0.3", "--gamma", "0.4", "--initial", "5"]
    make, probes = learner_for(log, None, options_of(*flags))
    learner = make(7)
    assert type(learner) is us.learners.QLearning
    assert (learner.epsilon, learner.alpha, learner.gamma) == (0.2, 0.3, 0.4)
    assert np.all(learner.q == 5.0)
    assert list(probes) == ["start value"]


@pytest.mark.parametrize(
    ("flags", "kind", "shown"),
    [
        (["--encoder", "boxes", "--bins", "3"], us.encoders.Boxes, "3"),
        (["--encoder", "kmeans", "--states", "4", "--seed", "9"], us.encoders.KMeans, "KMeans(4, seed=9)"),
    ],
)
def test_an_encoder_has_the_settings_of_its_flags_and_is_fitted(floats, flags, kind, shown):
    encoder = encoder_for(us.read(floats), options_of(*flags), None)
    assert type(encoder) is kind
    assert encoder.fitted
    assert shown in repr(encoder)


def test_without_an_encoder_observations_are_states(log):
    assert encoder_for(log, options_of(), None) is None
    assert states_for(log, None, None).encoder.startswith("Identity")


@pytest.mark.parametrize("name", ["psrs", "qbe", "states_only", "actions_only", "any_row", "model"])
def test_a_simulator_is_the_one_named_with_the_options_it_takes(log, name):
    options = options_of("--order", "log", "--openings", "replacement", "--max-episode-steps", "12")
    settings = simulator_for(name, log, None, options).settings
    assert settings["simulator"] == name
    assert settings["max_episode_steps"] == 12
    if name in ("psrs", "qbe", "states_only"):
        assert settings["order"] == "log"
    if name != "model":
        assert settings["openings"] == "replacement"


@pytest.mark.parametrize(
    ("flags", "settings"),
    [
        ([], {}),
        (["--reserve"], {"reserve": True}),
        (["--no-reserve"], {}),
        (["--mean-propensity", "--order", "rows"], {"propensity": "state mean"}),
    ],
)
def test_psrs_has_a_reserve_and_mean_propensities_where_asked_for(log, flags, settings):
    options = options_of(*flags)
    assert simulators_of(log, options) == ["psrs"]
    found = simulator_for("psrs", log, None, options).settings
    assert {name: found[name] for name in ("reserve", "propensity") if name in found} == settings
    if flags:
        with pytest.raises(us.SettingError, match=f"{flags[0]} is for psrs, and not for qbe"):
            simulators_of(log, options_of("--simulator", "qbe", *flags))


def test_mean_propensities_in_another_order_are_refused_in_the_words_of_the_command_line(events, columns, capsys):
    assert main(["simulate", str(events), *columns, "--mean-propensity", "--quick"]) == 2
    assert "--mean-propensity needs --order rows: in --order episodes rows of one logger" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "rounded"), [(0, 1), (1, 1), (4.9, 2), (5, 5), (99, 50), (100, 100), (123456, 100000)]
)
def test_a_round_number_is_not_above_the_number(number, rounded):
    assert round_number(number) == rounded


def decisions(path, chosen=None, n=400, seed=0):
    """A CSV of decisions with two pages and three arms, and the logger's propensities of the chosen arm, if any."""
    rng = np.random.default_rng(seed)
    table = np.array([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]])
    page = rng.integers(2, size=n)
    arm = (table[page].cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    frame = pd.DataFrame({"observation": page, "action": arm, "reward": (rng.random(n) < 0.3 + 0.2 * arm).astype(int)})
    if chosen is not None:
        frame["propensity"] = table[page, arm] if chosen == "logged" else chosen
    frame.to_csv(path, index=False)
    pd.DataFrame({"observation": [0, 1], "0": table[:, 0], "1": table[:, 1], "2": table[:, 2]}).to_csv(
        path.with_name("table.csv"), index=False
    )
    return path


COMMANDS = defaultdict(lambda: None)  # whatever commands there are
QUICK = ["--ends", "every-row", "--quick", "--runs", "2", "--every", "20"]


def test_a_uniform_logger_needs_no_flag(tmp_path, capsys):
    path = decisions(tmp_path / "log.csv", chosen=0.333)
    assert main(["simulate", str(path), *QUICK, "--out", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().out
    assert "propensities: uniform, recognized from those of the chosen actions" in told
    assert us.load(tmp_path / "out" / "psrs").about.log_propensities.startswith("uniform")


def test_a_table_of_propensities_is_a_file(tmp_path, capsys, refused):
    path, table = decisions(tmp_path / "log.csv", chosen="logged"), tmp_path / "table.csv"
    arguments = ["simulate", str(path), *QUICK, "--propensities", str(table), "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    assert "propensities: from a table" in capsys.readouterr().out
    assert "Propensities: from a table." in (tmp_path / "out" / "report.html").read_text()
    message = refused("check", path, "--ends", "every-row", "--propensities", table, "--estimate-propensities")
    assert "leave one out" in message
    told = refused("simulate", path, *QUICK, "--simulator", "psrs", "--out", tmp_path / "other")
    for flag in ("--propensities FILE", "--estimate-propensities", "--bandit", "use qbe"):
        assert flag in told


def test_estimates_are_made_when_asked_and_every_page_warns(tmp_path, capsys):
    path = decisions(tmp_path / "log.csv")
    out = ["--out", str(tmp_path / "out")]
    assert main(["simulate", str(path), *QUICK, *out]) == 0
    assert (tmp_path / "out" / "qbe" / "experiment.json").exists()  # what needs no propensities, unless asked
    assert "propensities: none" in capsys.readouterr().out
    out = ["--out", str(tmp_path / "estimated")]
    assert main(["simulate", str(path), *QUICK, *out, "--estimate-propensities"]) == 0
    told = capsys.readouterr().out
    assert "warning: propensity-source: propensities are estimated from the log" in told
    assert "cannot be seen" in told
    page = (tmp_path / "estimated" / "report.html").read_text()
    assert "Propensities: estimated from the log, from which of 2 observations it is, cross-fitted by episode" in page
    assert "The audit of the log found: propensities are estimated from the log" in page
    assert "estimated" in us.load(tmp_path / "estimated" / "psrs").about.log_propensities


def test_options_of_propensities_reach_the_log(tmp_path):
    path = decisions(tmp_path / "log.csv", chosen=0.5)

    def read(*flags):
        return read_log(build_parser(COMMANDS).parse_args(["check", str(path), "--ends", "every-row", *flags]))

    assert read("--propensity-samples", "4").propensity_source.n_samples == 4
    assert read("--estimate-propensities").propensity_source.kind == "estimated"
    frame = pd.read_csv(path).assign(p0=0.4, p1=0.3, p2=0.28)
    frame.to_csv(path, index=False)
    log = read("--propensity", "p0", "p1", "p2", "--renormalize")
    assert np.allclose(log.propensity[0], np.array([0.4, 0.3, 0.28]) / 0.98)


def test_sums_that_are_not_one_name_the_flag(tmp_path, refused):
    path = decisions(tmp_path / "log.csv")
    pd.read_csv(path).assign(p0=0.4, p1=0.3, p2=0.28).to_csv(path, index=False)
    told = refused("simulate", path, "--propensity", "p0", "p1", "p2", *QUICK, "--out", tmp_path / "out")
    assert "sums to 0.98, not 1, in row 0" in told
    assert "--renormalize" in told


def test_a_logger_that_adapts_is_said_to_need_the_order_of_the_log(tmp_path, capsys):
    rng = np.random.default_rng(0)
    late = np.linspace(0.2, 0.8, 2000).round(6)
    arm = (rng.random(2000) < late).astype(int)
    frame = pd.DataFrame({"observation": np.arange(2000) % 2, "action": arm, "reward": arm, "p": 1 - late, "q": late})
    frame.to_csv(tmp_path / "log.csv", index=False)
    arguments = ["simulate", str(tmp_path / "log.csv"), *QUICK, "--propensity", "p", "q"]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().out
    assert "the logger seems to adapt; simulate with --order log" in told  # the audit
    assert "exact in the order of the log, --order log" in told
    assert main([*arguments, "--order", "log", "--out", str(tmp_path / "in order")]) == 0
    assert "exact in the order of the log" not in capsys.readouterr().out


CLICKS = ["--observation", "x0", "x1", "--action", "arm", "--reward", "click", "--propensity", "p"]


def check_options(*arguments):
    """The options of `understudy check` with these arguments."""
    return build_parser(COMMANDS).parse_args(["check", *map(str, arguments)])


def test_a_bandit_needs_no_column_of_ends(clicks, bandit, log, tmp_path):
    assert read_log(check_options(clicks, *CLICKS, "--bandit")).n_episodes == 600
    columns = ["--observation", "page", "--action", "arm", "--reward", "paid"]
    assert read_log(check_options(bandit, *columns, "--episode", "visit", "--bandit")).n_episodes == 40
    us.write(log, tmp_path / "ends.parquet")  # a column tells how episodes end
    assert read_log(check_options(tmp_path / "ends.parquet", "--bandit")).n_episodes == log.n_episodes
    with pytest.raises(us.SettingError, match="the episode that begins in row 0 has"):
        read_log(check_options(bandit, *columns, "--episode", "shop", "--bandit"))


def test_decisions_are_replayed_with_their_own_contexts(clicks, tmp_path, capsys):
    out = tmp_path / "out"
    arguments = ["simulate", str(clicks), *CLICKS, "--bandit", "--learner", "uniform", "--out", str(out)]
    assert main([*arguments, "--runs", "8"]) == 0
    said = capsys.readouterr().out
    assert (
        "is accepted: the bound by the smallest propensity of chosen actions, for which the log alone vouches" in said
    )
    assert "self-check: left out, since it tests states, of which replay makes no use" in said
    assert "give --bandit" not in said
    runs = us.load(out / "replay")
    assert runs.about.simulator_name == "replay"
    assert runs.about.n_states is None
    assert all(run.stopped.cause == "used up" and len(run) > 5 for run in runs)
    assert len(runs.halves) == 0 or len(runs.halves) == 8
    assert not (out / "states.json").exists()
    assert main(["report", str(out)]) == 0
    assert main(["forecast", str(clicks), *CLICKS, "--bandit", "--learner", "uniform", "--pre-runs", "3"]) == 0


def test_a_log_of_decisions_suggests_to_replay_them(clicks, tmp_path, capsys):
    arguments = [*CLICKS, "--ends", "every-row"]
    assert main(["check", str(clicks), *arguments]) == 0
    assert "Every episode has one row: give --bandit to replay them" in capsys.readouterr().out
    boxes = ["--encoder", "boxes", "--bins", "2", "--quick", "--runs", "1", "--anyway", "--out", str(tmp_path / "out")]
    assert main(["simulate", str(clicks), *arguments, *boxes]) == 0
    assert "give --bandit to replay them" in capsys.readouterr().out
    assert main(["check", str(clicks), *arguments, "--json"]) == 0
    assert "give --bandit to replay" not in capsys.readouterr().out


def test_bounds_are_for_simulators_that_have_one(clicks, tmp_path, refused, capsys):
    uniform = [*CLICKS, "--bandit", "--learner", "uniform"]
    for flag, value in (("--openings", "replacement"), ("--max-episode-steps", "3")):
        assert f"{flag} is for simulators with queues of rows, and not for replay" in refused(
            "simulate", clicks, *uniform, flag, value
        )
    assert "--bound is for replay and pers, and not for qbe" in refused(
        "simulate", clicks, *uniform, "--simulator", "qbe", "--bound", "3"
    )
    out = str(tmp_path / "out")
    assert main(["simulate", str(clicks), *uniform, "--bound", "2", "--runs", "2", "--quick", "--out", out]) == 0
    runs = us.load(tmp_path / "out" / "replay")
    assert all(run.stopped.bias > 0 and run.stopped.counts["bounds exceeded"] > 0 for run in runs)
    assert "above the bound" in (tmp_path / "out" / "report.html").read_text()


def test_what_cannot_be_replayed_is_refused_in_the_words_of_the_command_line(clicks, events, columns, refused):
    bare = [*CLICKS[:-2], "--bandit", "--learner", "uniform"]
    message = refused("simulate", clicks, *bare)
    assert "no propensities; name the column of the probability of each row's action with --propensity (" in message
    assert "--estimate-propensities, or use qbe" in message
    message = refused("simulate", events, *columns, "--simulator", "replay")
    assert "use psrs" in message
    assert "say --ends every-row if" in message
