"""An encoder of another package, which can be saved; and what is refused."""

import subprocess
import sys

import numpy as np
import pytest

import understudy as us
from understudy.encoders import registry
from understudy.encoders.registry import class_of, known_names, name_of
from understudy.errors import ContractError, EncoderError, SettingError


class Slices:
    """A state is a slice of one dimension of the observation, cut at quantiles of the log."""

    save, audit = us.encoders.save, us.encoders.audit  # methods that every encoder can have
    fits = 0  # codes are kept until the next fit

    def __init__(self, n_states, dimension=0):
        self.n_states, self.dimension = n_states, dimension
        self.cuts, self.fitted_on = None, None

    @property
    def fitted(self):
        return self.cuts is not None

    def fit(self, log):
        shares = np.arange(1, self.n_states) / self.n_states
        self.cuts = np.quantile(log.observation[:, self.dimension], shares)
        self.fitted_on, self.fits = log.fingerprint, self.fits + 1
        return self

    def encode(self, observations):
        return np.searchsorted(self.cuts, observations[:, self.dimension], side="right")

    @property
    def settings(self):
        return {"n_states": self.n_states, "dimension": self.dimension, "cuts": self.cuts}

    def contents(self):
        if self.cuts is None:
            raise us.EncoderError("these Slices have nothing to save yet: call fit(log) first")
        settings = {"n_states": self.n_states, "dimension": self.dimension}
        return us.encoders.EncoderContents(settings, {"cuts": self.cuts}, fitted_on=self.fitted_on)

    @classmethod
    def from_contents(cls, contents):
        slices = cls(**contents.settings)
        slices.cuts, slices.fitted_on = contents.arrays["cuts"], contents.fitted_on
        if slices.cuts.shape != (slices.n_states - 1,) or not (np.diff(slices.cuts) >= 0).all():
            raise us.EncoderError("the cuts do not fit the number of states")
        return slices


us.encoders.register("slices.Slices", Slices)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "encoder.npz"


@pytest.fixture(autouse=True)
def _same_registry(monkeypatch):
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))


def test_an_encoder_of_another_package_is_saved_loaded_and_audited(grid_log, path):
    slices = Slices(4, dimension=1).fit(grid_log)
    slices.save(path)
    loaded = us.encoders.load(path)
    assert type(loaded) is Slices
    assert loaded.fitted
    assert np.array_equal(loaded.encode(grid_log.observation), slices.encode(grid_log.observation))
    assert loaded.audit(grid_log).same_log
    assert str(loaded.audit(grid_log)) == str(slices.audit(grid_log))
    assert str(loaded.audit(grid_log)).startswith("Slices: 12,000 rows in 4 states")


def test_it_rehearses_and_its_runs_are_kept_in_a_folder(grid_log, path, tmp_path):
    us.encoders.save(Slices(3).fit(grid_log), path)
    loaded = us.encoders.load(path)

    def make(seed):
        return us.learners.QLearning(3, 5, encoder=loaded, seed=seed)

    runs = us.experiment(us.qbe(grid_log, loaded), make, runs=2, out=tmp_path / "runs", backend="serial")
    again = us.experiment(us.qbe(grid_log, Slices(3)), make, runs=2, backend="serial")
    assert all(np.array_equal(one.rows, other.rows) for one, other in zip(runs, again, strict=True))


def test_what_its_from_contents_refuses_is_said_with_the_path(grid_log, path):
    slices = Slices(4).fit(grid_log)
    slices.cuts = slices.cuts[:1]
    slices.save(path)
    with pytest.raises(EncoderError, match=r"is not a slices\.Slices that fits together \(the cuts do not fit"):
        us.encoders.load(path)


def test_a_file_of_a_class_that_is_not_registered_names_the_package_to_import(grid_log, path):
    Slices(4).fit(grid_log).save(path)
    code = f"import understudy as us; us.encoders.load({str(path)!r})"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "holds an encoder 'slices.Slices', which is not one of Boxes, Forward" in ran.stderr
    assert "import the package that registers it" in ran.stderr


def test_a_class_that_is_not_registered_is_not_saved(grid_log, path):
    class Other(Slices):
        pass

    with pytest.raises(ContractError, match=r'Other is not registered.*register\("yourpackage\.Other", Other\)'):
        Other(4).fit(grid_log).save(path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"settings": {"n": np.int64(3)}}, "settings that JSON cannot hold"),
        ({"arrays": {"cuts": np.array([None])}}, "'cuts', a object array; arrays are NumPy's, of numbers or text"),
        ({"arrays": {"cuts": [1.0]}}, "'cuts', a list; arrays are"),
        ({"arrays": {"header": np.zeros(2)}}, "'header', a float64 array; .* not named header"),
    ],
)
def test_contents_that_a_file_cannot_hold_are_refused_before_anything_is_written(change, words, path, monkeypatch):
    contents = us.encoders.EncoderContents(**{"settings": {}, "arrays": {}} | change)
    monkeypatch.setattr(Slices, "contents", lambda self: contents)
    with pytest.raises(ContractError, match=f"contents of Slices has {words}"):
        Slices(2).save(path)
    assert not path.exists()


def test_a_class_without_the_methods_is_not_registered():
    class Bare:
        def encode(self, observations):
            return observations

    for wrong in (Bare, Slices(2), 5, np.sign):
        with pytest.raises(ContractError, match=r"needs to be a class with encode\(observations\), contents\(\)"):
            us.encoders.register("wrong", wrong)
    assert "wrong" not in known_names()


def test_a_name_belongs_to_one_class():
    class Other(Slices):
        pass

    with pytest.raises(SettingError, match=r"'slices\.Slices' is the name of .*Slices; register .*Other under another"):
        us.encoders.register("slices.Slices", Other)
    with pytest.raises(SettingError, match=r"'KMeans' is the name of understudy\.encoders\.KMeans"):
        us.encoders.register("KMeans", Other)
    for name in ("", None, "new\nline"):
        with pytest.raises(SettingError, match="cannot be registered as"):
            us.encoders.register(name, Other)
    assert class_of("slices.Slices") is Slices


def test_a_class_that_a_notebook_defines_again_replaces_the_first():
    def defined():
        class Cell(Slices):
            pass

        return us.encoders.register("notebook.Cell", Cell)

    first, second = defined(), defined()
    assert first is not second
    assert class_of("notebook.Cell") is second
    assert name_of(second) == "notebook.Cell"


def test_a_class_with_two_names_is_saved_under_the_newer_and_loaded_under_both():
    us.encoders.register("slices.Renamed", Slices)
    assert name_of(Slices) == "slices.Renamed"
    assert class_of("slices.Renamed") is class_of("slices.Slices") is Slices


@pytest.mark.parametrize("name", registry.OURS)
def test_ours_are_known_by_their_own_names(name):
    kind = getattr(us.encoders, name)
    assert class_of(name) is kind
    assert name_of(kind) == name
