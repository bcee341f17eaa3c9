import io
import json
import os
import subprocess
import sys
import tracemalloc
import zipfile
from copy import deepcopy

import numpy as np
import pytest

from understudy.encoders import Boxes, Function, Homer, Identity, KMeans, load, save
from understudy.encoders.files import FORMAT, array_digest
from understudy.errors import ContractError, EncoderError
from understudy.runs.describing import plain

X = np.random.default_rng(0).random((300, 2))
ENCODERS = {
    "identity": lambda log_of: (Identity(), np.arange(9)),
    "identity of integers": lambda log_of: (Identity().fit(log_of([3, 0, 7])), np.arange(9)),
    "identity of vectors": lambda log_of: (Identity().fit(log_of(X)), X[::3]),
    "given boxes": lambda log_of: (Boxes(edges=[[0.5], [0.2, 0.4]]), X),
    "placed boxes": lambda log_of: (Boxes(bins=[3, 4], spacing="uniform").fit(log_of(X)), X),
    "k-means": lambda log_of: (KMeans(7, seed=3).fit(log_of(X)), X),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "encoder.npz"


@pytest.fixture
def saved(path, log_of):
    """A file with a KMeans."""
    KMeans(7).fit(log_of(X)).save(path)
    return path


def members_of(path):
    with np.load(path, allow_pickle=False) as archive:
        members = dict(archive)
    return json.loads(members.pop("header").tobytes()), members


def rewrite(path, header, members):
    """What someone would write who knows the format."""
    members = {name: array for name, array in members.items() if name != "digest"}
    header["digests"] = {name: array_digest(array) for name, array in members.items()}
    octets = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, header=octets, digest=np.array(array_digest(octets)), **members)


def assert_same(one, other, observations):
    assert type(one) is type(other)
    assert np.array_equal(one.encode(observations), other.encode(observations))
    assert (one.n_states, one.fitted, repr(one)) == (other.n_states, other.fitted, repr(other))
    assert plain(one) == plain(other)
    assert one.describe_state(1) == other.describe_state(1)


@pytest.mark.parametrize("name", ENCODERS)
def test_what_is_loaded_is_what_was_saved(name, path, log_of):
    encoder, observations = ENCODERS[name](log_of)
    encoder.save(path)
    assert_same(load(path), encoder, observations)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_loaded_homer_is_the_one_that_was_saved(homer, grid_log, path):
    homer.save(path)
    loaded = load(path)
    assert_same(loaded, homer, grid_log.observation)
    assert (loaded.loss, loaded.losses) == (homer.loss, homer.losses)


def test_a_loaded_encoder_refuses_what_the_saved_one_refuses(saved):
    with pytest.raises(EncoderError, match="fitted on float observations of shape"):
        load(saved).encode([1, 2])


def test_saving_again_gives_the_same_content(saved, path):
    again = path.with_name("again.npz")
    load(saved).save(again)
    assert members_of(saved)[0] == members_of(again)[0]


@pytest.mark.parametrize("encoder", [Boxes(bins=3), KMeans(3), Homer()])
def test_what_is_not_fitted_has_nothing_to_save(encoder, path):
    with pytest.raises(EncoderError, match=r"save yet: call fit\(log\) first"):
        encoder.save(path)
    assert not path.exists()


def test_a_function_says_why_it_cannot_be_saved(path):
    with pytest.raises(EncoderError, match="cannot be saved, since files hold no code; keep the function in a module"):
        Function(np.sign).save(path)


def test_what_cannot_be_turned_into_values_and_arrays_is_not_saved(path):
    for encoder in (Function(np.sign), np.sign):
        with pytest.raises(ContractError, match=r"cannot be saved: it needs contents\(\) and from_contents"):
            save(encoder, path)


def test_a_part_of_a_file_is_refused_wherever_it_was_cut(saved):
    whole = saved.read_bytes()
    for length in range(0, len(whole), 7):
        saved.write_bytes(whole[:length])
        with pytest.raises(EncoderError, match=r"is not a saved encoder|damaged"):
            load(saved)


def test_a_changed_byte_is_noticed_or_changes_nothing(saved):
    whole, encoder = saved.read_bytes(), load(saved)
    n_noticed = 0
    for place in range(0, len(whole), 5):
        saved.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        try:
            assert_same(load(saved), encoder, X)
        except EncoderError:
            n_noticed += 1
    assert n_noticed > len(whole) // 5 * 0.7


def test_a_changed_array_is_named(saved):
    with np.load(saved) as archive:
        members = dict(archive)
    members["centers"] = members["centers"] + 1
    np.savez(saved, **members)
    with pytest.raises(EncoderError, match="has been changed: its 'centers' is not what was saved"):
        load(saved)


def test_a_changed_header_is_noticed(saved):
    with np.load(saved) as archive:
        members = dict(archive)
    members["header"] = np.frombuffer(members["header"].tobytes().replace(b'"seed": 0', b'"seed": 1'), dtype=np.uint8)
    np.savez(saved, **members)
    with pytest.raises(EncoderError, match="its header is not what was saved"):
        load(saved)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda header, members: header.update(format=FORMAT + 1), "install a newer Understudy"),
        (
            lambda header, members: header.update(encoder="os.system"),
            "an encoder 'os.system', which is not one of",
        ),
        (
            lambda header, members: header.update(encoder=["KMeans"]),
            r"an encoder \['KMeans'\], which is not one of",
        ),
        (lambda header, members: header.pop("settings"), "its settings is missing or wrong"),
        (lambda header, members: header.update(form=["complex", [2]]), "no 'complex' observations"),
        (lambda header, members: header.update(form=["float", [3]]), "not a KMeans that fits together"),
        (lambda header, members: header.update(form=None), "type and shape of its observations are missing"),
        (lambda header, members: header["settings"].update(n_states=8), r"of shape \(7, 2\), not \(8, 2\)"),
        (lambda header, members: header["settings"].update(extra=8), "not a KMeans that fits together"),
        (lambda header, members: members.update(centers=members["centers"].T), "not a KMeans that fits together"),
        (lambda header, members: members.pop("centers"), "not a KMeans that fits together"),
        (lambda header, members: members.update(scale=np.array([1, np.inf])), "not a KMeans that fits together"),
    ],
)
def test_what_does_not_fit_together_is_refused_though_its_digests_do(saved, change, words):
    header, members = members_of(saved)
    change(header, members)
    rewrite(saved, header, members)
    with pytest.raises(EncoderError, match=words):
        load(saved)


def test_a_newer_file_is_known_by_its_version_whatever_else_it_does_otherwise(saved):
    with np.load(saved) as archive:
        members = dict(archive)
    members["header"] = np.frombuffer(members["header"].tobytes().replace(b'"format": 1', b'"format": 2'), np.uint8)
    np.savez(saved, **members)
    with pytest.raises(EncoderError, match=r"is of format 2, .* reads formats up to 1; install a newer"):
        load(saved)


def test_homers_weights_have_to_fit(homer, path):
    homer.save(path)
    header, members = members_of(path)
    name = next(name for name in members if "weight" in name)
    for wrong in (members[name][:-1], members[name] * np.float32(np.nan), members[name].astype(np.float64)):
        rewrite(path, dict(header), {**members, name: wrong})
        with pytest.raises(EncoderError, match="not a Homer that fits together"):
            load(path)


class Trap:
    """Unpickling this would tell."""

    def __reduce__(self):
        return (sys.exit, ("unpickled",))


def test_no_pickle_is_read(path):
    np.savez(path, header=np.array([Trap()], dtype=object))
    with pytest.raises(EncoderError, match="damaged"):
        load(path)


def test_what_is_no_encoder_is_refused(path, tmp_path):
    path.write_text("x,y\n1,2\n")
    with pytest.raises(EncoderError, match="is not a saved encoder"):
        load(path)
    np.savez(path, weights=np.zeros(3))
    with pytest.raises(EncoderError, match="it has no header"):
        load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.npy", b"nonsense")
    with pytest.raises(EncoderError, match=r"damaged|no header"):
        load(path)
    with pytest.raises(EncoderError, match=r"cannot read .*: No such file"):
        load(tmp_path / "nothing.npz")
    with pytest.raises(EncoderError, match="cannot read"):
        load(tmp_path)


def test_a_write_that_fails_leaves_what_was_there(saved, log_of, monkeypatch):
    before = saved.read_bytes()

    def full(file, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(EncoderError, match="No space left on device; make room"):
        KMeans(3).fit(log_of(X)).save(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_folder_that_is_not_there_is_said(tmp_path):
    with pytest.raises(EncoderError, match="cannot write"):
        Identity().save(tmp_path / "nowhere" / "encoder.npz")


def test_without_torch_the_line_that_installs_it_is_said(homer, path, monkeypatch):
    homer.save(path)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r'Homer needs torch: pip install "torch>=2.2" '):
        load(path)


def test_loading_what_needs_no_torch_imports_none(saved):
    code = f"import sys, understudy as us; us.encoders.load({str(saved)!r}); print('torch' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


def test_a_digest_knows_dtype_and_shape():
    zeros = np.zeros(4, dtype=np.float32)
    digests = {array_digest(a) for a in (zeros, zeros.reshape(2, 2), zeros.view(np.int32), zeros[:0], zeros[::2])}
    assert len(digests) == 5
    assert array_digest(np.asfortranarray(np.eye(3)[:2])) == array_digest(np.eye(3)[:2])
    assert array_digest(np.load(io.BytesIO(_npy(zeros)))) == array_digest(zeros)


def _npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize("version", [True, 1.5, 1.0, "1", None, 0, -1, [1]])
def test_a_format_that_is_not_a_whole_number_is_refused(saved, version):
    header, members = members_of(saved)
    rewrite(saved, header | {"format": version}, members)
    with pytest.raises(EncoderError, match="its header cannot be read"):
        load(saved)


def test_a_header_of_very_many_levels_is_refused(saved):
    _, members = members_of(saved)
    octets = np.frombuffer(b"[" * 100_000 + b"]" * 100_000, dtype=np.uint8)
    np.savez(saved, **members | {"header": octets, "digest": np.array(array_digest(octets))})
    with pytest.raises(EncoderError, match="its header cannot be read"):
        load(saved)


def test_a_small_file_that_unpacks_to_much_is_refused_before_it_does(saved):
    header, members = members_of(saved)
    members["centers"] = np.zeros((50_000_000, 2), dtype=np.float32)
    header["settings"]["n_states"] = 50_000_000
    header["digests"] = {name: array_digest(array) for name, array in members.items() if name != "digest"}
    octets = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez_compressed(saved, **members | {"header": octets, "digest": np.array(array_digest(octets))})
    del members
    assert saved.stat().st_size < 1_000_000
    assert_refused_in_little_memory(saved, "its arrays are compressed")


def test_members_that_claim_more_than_the_file_has_are_refused(saved):
    """A thousand names for one array, and sizes that are not there."""
    whole = saved.read_bytes()
    with zipfile.ZipFile(saved) as archive:
        claimed = max(archive.infolist(), key=lambda info: info.file_size)
    for forged in (2**31, 2**32 - 2):
        size = claimed.file_size.to_bytes(4, "little")
        saved.write_bytes(whole.replace(size * 2, forged.to_bytes(4, "little") * 2))
        assert_refused_in_little_memory(saved, "damaged")


def assert_refused_in_little_memory(path, words):
    tracemalloc.start()
    with pytest.raises(EncoderError, match=words):
        load(path)
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


@pytest.mark.parametrize("name", ["", "a" * 5000, "nul\0", "\ud800", ".", "no/such"])
def test_paths_that_cannot_be_are_said(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EncoderError, match=r"^cannot read "):
        load(name)
    with pytest.raises(EncoderError, match=r"^cannot write "):
        Identity().save(name)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_a_path_or_not_a_file_is_said_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(EncoderError, match="pipe: it is not a file"):
        load(tmp_path / "pipe")
    for wrong in (None, 5, b"bytes"):
        with pytest.raises(EncoderError, match="cannot read"):
            load(wrong)
        with pytest.raises(EncoderError, match="cannot write"):
            Identity().save(wrong)


def test_loading_leaves_torchs_generator_as_it_was(homer, path):
    import torch

    homer.save(path)
    before = torch.get_rng_state()
    load(path)
    assert torch.equal(before, torch.get_rng_state())


# What someone could write who knows the format: digests that fit, and content that does not.


def nan_in(name, value=np.nan):
    def change(header, members):
        members[name] = members[name].copy()
        members[name].flat[0] = value

    return change


def cast(name, dtype):
    return lambda header, members: members.update({name: members[name].astype(dtype)})


def setting(**values):
    return lambda header, members: header["settings"].update(values)


def option(**values):
    return lambda header, members: header["settings"]["options"].update(values)


FORGED = {
    "identity of integers": [
        setting(n_states=-1), setting(n_states=0), setting(n_states=True), setting(n_states="8"),
        setting(n_states=10**30), setting(n_states=None), setting(more=1), lambda h, m: h.update(form=["float", []]),
        lambda h, m: h.update(form=["integer", [2]]), lambda h, m: m.update(observations=np.zeros((8, 2))),
        lambda h, m: h.update(form=None),
    ],
    "identity of vectors": [
        setting(n_states=1), nan_in("observations"), cast("observations", np.int64),
        lambda h, m: m.update(observations=m["observations"][[0, *range(299)]]),  # one twice
        lambda h, m: m.update(observations=m["observations"][:0]) or h["settings"].update(n_states=0),
        lambda h, m: m.update(observations=m["observations"].T), lambda h, m: m.pop("observations"),
        lambda h, m: h.update(form=["float", [2, 1]]), lambda h, m: h.update(form=["float", [0]]),
        lambda h, m: h.update(form=["float", [-2]]), lambda h, m: h.update(form=["float", [True, 2]]),
        lambda h, m: h.update(form=["float", "2"]), lambda h, m: h.update(form=["float"]),
        lambda h, m: m.update(more=np.zeros(3)), lambda h, m: h.update(fitted_on=5),
        lambda h, m: m.update(observations=m["observations"].astype("U8")),
        lambda h, m: m.update(observations=m["observations"].astype(object)),
    ],
    "placed boxes": [
        nan_in("edges 0"), nan_in("edges 1", 9.0), cast("edges 0", np.float32), cast("edges 0", "U8"),
        setting(bins=[3]), setting(bins=2), setting(bins=[-3, 4]), setting(bins=[3.5, 4]), setting(bins="5"),
        setting(bins=[10**30, 4]), setting(bins={}), setting(bins=[[3], [4]]), setting(spacing="log"),
        setting(spacing=None), setting(spacing=[]), setting(more=1), lambda h, m: m.pop("edges 0"),
        lambda h, m: m.update({"edges 2": np.zeros(1)}), lambda h, m: m.update({"edges 0": np.array(0.5)}),
        lambda h, m: h.update(form=["float", [3]]), lambda h, m: h.update(form=["float", [10**12, 10**12]]),
        lambda h, m: m.update({"edges 01": m.pop("edges 0")}),
    ],
    "k-means": [
        nan_in("centers"), nan_in("centers", np.inf), nan_in("center"), nan_in("scale", 0.0), nan_in("scale", -1.0),
        cast("centers", np.float64), cast("centers", np.int32), cast("scale", np.float32), cast("scale", "U9"),
        setting(n_states=True), setting(n_states=-7), setting(n_states=10**15),
        setting(seed=1.5), setting(seed="0"), setting(iterations=0), setting(most_rows=None), setting(more=1),
        lambda h, m: m.update(codes=np.arange(3)), lambda h, m: m.pop("scale"),
        lambda h, m: m.update(centers=m["centers"].ravel()), lambda h, m: h.update(form=["integer", []]),
    ],
    "homer": [
        option(latent=10**9), option(width=10**9), option(width=True), option(latent="12"), option(device="cuda:9"),
        option(progress=True), option(temperature=[1.0]), option(temperature="warm"), option(split={}),
        option(held_out=2.0), option(held_out=float("nan")), option(select=[]), option(learning_rate="fast"),
        setting(n_actions=10**9), setting(n_actions=0), setting(losses=["a"]),
        setting(loss={}), setting(searched=[{}]), setting(searched=5), setting(searched=[{"latent": 1}]),
        setting(more=1),
        setting(options=None), nan_in("features scale", 0.0), nan_in("features center"), nan_in("hidden.weight"),
        nan_in("output.bias", np.inf), cast("hidden.weight", np.float64), lambda h, m: m.pop("hidden.weight"),
        lambda h, m: m.update({"features more": np.zeros(2)}), lambda h, m: m.update({"more": np.zeros(2)}),
        lambda h, m: h.update(form=["float", [10**9, 10**9]]), lambda h, m: h.update(form=["integer", []]),
        lambda h, m: m.update({"features codes": np.arange(5)}),
    ],
    "forward": [
        option(width=10**9), option(radius="0.1"), option(radius=1.0), option(steps=0), option(device="cpu"),
        setting(n_actions=10**9), setting(n_signals=10**9), setting(n_signals=-1), setting(n_signals=None),
        setting(loss="a"), setting(losses=None), setting(more=1), nan_in("centers"), nan_in("weight", np.inf),
        nan_in("outcomes"), nan_in("state_of", -1), nan_in("state_of", 10**15), cast("state_of", np.float64),
        cast("state_of", np.int32), cast("centers", np.float64), lambda h, m: m.update(state_of=m["state_of"] + 1),
        lambda h, m: m.update(centers=m["centers"][:-1]), lambda h, m: m.update(weight=m["weight"][:0]),
        lambda h, m: m.update(weight=np.array(1.0, np.float32)), lambda h, m: m.update(more=np.zeros(2)),
        lambda h, m: m.update(outcomes=m["outcomes"][:, :-1]), lambda h, m: m.pop("net head.bias"),
        nan_in("net head.bias"), nan_in("features scale", -1.0),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def small(grid_log):
    """A small encoder of each kind that is learned with torch, and observations for it."""
    import torch

    from understudy.encoders import Forward
    from understudy.encoders.clustering import OutcomeBank
    from understudy.encoders.forecast import DIMENSION, ForecastNet, RowLoader
    from understudy.encoders.training import features_of_log, generator_of, seeded_module

    homer = Homer(latent=6, width=4, max_epochs=1).fit(grid_log)
    # A Forward as a search would leave it, without one: a dozen outcomes, and four centers of three states.
    forward, generator = Forward(width=4), generator_of(0, 0)
    features = features_of_log(grid_log, "Forward", 10)
    n_signals = RowLoader(grid_log, features, torch.device("cpu")).n_signals
    forward._net = seeded_module(lambda: ForecastNet(features, 5, n_signals, 4), generator)
    forward._features, forward._bank = (
        features,
        OutcomeBank(*torch.randn(12, DIMENSION + 1, generator=generator).split(DIMENSION, 1)),
    )
    forward._bank = forward._bank._replace(weight=forward._bank.weight.squeeze(1).contiguous())
    forward._centers = torch.rand(4, 5, 12, generator=generator)
    forward._state_of, forward.loss, forward.losses = np.array([0, 2, 1, 1]), 1.5, [2.0, 1.5]
    return {"homer": (homer, grid_log.observation[:50]), "forward": (forward, grid_log.observation[:50])}


def made(name, log_of, small):
    return small[name] if name in small else ENCODERS[name](log_of)


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_file_is_refused_though_its_digests_fit(name, path, log_of, small):
    made(name, log_of, small)[0].save(path)
    for number, change in enumerate(FORGED[name]):
        header, members = members_of(path)
        change(header, members)
        forged = path.with_name(f"forged {number}.npz")
        rewrite(forged, header, members)
        with pytest.raises(EncoderError, match=r"fits together|is damaged"):
            pytest.fail(f"change {number} was read as {load(forged)!r}")


# Fuzzing: by bytes, and by values under digests that fit.

KINDS = [*ENCODERS, "homer", "forward"]
SHORT, LONG = 80, 10_000
ODD = [
    None, True, False, -1, 0, 1, 2, 1.5, 1e308, float("inf"), float("nan"), 10**30, 2**31, 2**63, "", "x", "\ud800",
    "\x1b[2J", [], {}, [[]], [None], [1], {"a": 1}, "float", "integer",
]  # fmt: skip


def check_bytes(path, encoder, observations, versions):
    """Each damaged version is refused, or is the encoder that was saved."""
    encoder.save(path)
    for content in versions(path.read_bytes()):
        path.write_bytes(content)
        try:
            loaded = load(path)
        except EncoderError:
            continue
        assert_same(loaded, encoder, observations)


def check_forged(path, encoder, observations, count, seed):
    """Each forged version is refused, or is an encoder that works as one."""
    encoder.save(path)
    rng = np.random.default_rng(seed)
    for _ in range(count):
        header, members = members_of(path)
        for _ in range(rng.integers(1, 3)):
            forge(header, members, rng)
        forged = path.with_name("forged.npz")
        rewrite(forged, header, members)
        try:
            loaded = load(forged)
            states = loaded.encode(observations)
        except EncoderError:
            continue
        assert states.dtype == np.int64
        assert states.shape == (len(observations),)
        assert states.min() >= -1
        assert states.max() < (loaded.n_states or 2**31)
        assert plain(loaded) == plain(load(forged))
        repr(loaded)


def forge(header, members, rng):
    """Change a value of the header, or an array."""
    if rng.integers(2) and len(members) > 1:
        name = sorted(set(members) - {"digest"})[rng.integers(len(members) - 1)]
        members[name] = changed(members[name], rng)
        if rng.integers(8) == 0:
            members["" if rng.integers(2) else "more"] = members.pop(name)
        return
    at = header
    while True:
        keys = [key for key in (at if isinstance(at, dict) else range(len(at))) if key not in ("digests", "format")]
        if not keys:
            return
        key = keys[rng.integers(len(keys))]
        if isinstance(at[key], dict | list) and at[key] and rng.integers(4):
            at = at[key]
            continue
        if rng.integers(8) == 0:
            at.pop(key)
        else:
            at[key] = deepcopy(ODD[rng.integers(len(ODD))])
        return


def changed(array, rng):
    """An array with other values, or of another shape or dtype."""
    array, kind = array.copy(), rng.integers(9)
    if kind == 0 and array.size:
        array.flat[rng.integers(array.size)] = rng.choice([0, -1, 1, 127])
    elif kind == 1 and array.size and array.dtype.kind == "f":
        array.flat[rng.integers(array.size)] = rng.choice([np.nan, np.inf, -np.inf, 1e30, -1e30, 1e-40])
    elif kind == 2 and array.dtype.kind in "bfiu":
        with np.errstate(all="ignore"):
            array = array.astype(rng.choice(["f8", "f4", "f2", "i8", "u1", "b1", "U3", ">f4", "O", "c8"]))
    elif kind == 3:
        array = array.T
    elif kind == 4:
        array = array[rng.integers(len(array) + 1) :] if array.ndim else array[None]
    elif kind == 5:
        array = array.ravel()
    elif kind == 6 and array.ndim:
        array = np.concatenate([array, array[:1]])
    elif kind == 7:
        array = array[..., None]
    elif kind == 8 and array.ndim:
        array = array[::-1]
    return array


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")  # by the forger
@pytest.mark.parametrize("name", KINDS)
def test_no_damage_is_misread(name, path, log_of, small, damage):
    encoder, observations = made(name, log_of, small)
    check_bytes(path, encoder, observations, lambda content: damage(content, SHORT, seed=1))
    check_forged(path, encoder, observations, SHORT, seed=2)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
@pytest.mark.parametrize("name", KINDS)
def test_no_damage_of_ten_thousand_is_misread(name, path, log_of, small, damage):
    encoder, observations = made(name, log_of, small)
    check_bytes(path, encoder, observations, lambda content: damage(content, LONG, seed=3))
    check_forged(path, encoder, observations, LONG, seed=4)
