import io
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from understudy.contracts import LogError
from understudy.encoders import Boxes, Function, Homer, Identity, KMeans, load
from understudy.encoders.files import FORMAT, array_digest
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
    assert one.describe(1) == other.describe(1)


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
    with pytest.raises(LogError, match="fitted on float observations of shape"):
        load(saved).encode([1, 2])


def test_saving_again_gives_the_same_content(saved, path):
    again = path.with_name("again.npz")
    load(saved).save(again)
    assert members_of(saved)[0] == members_of(again)[0]


@pytest.mark.parametrize("encoder", [Boxes(bins=3), KMeans(3), Homer()])
def test_what_is_not_fitted_has_nothing_to_save(encoder, path):
    with pytest.raises(LogError, match=r"save yet: call fit\(log\) first"):
        encoder.save(path)
    assert not path.exists()


def test_a_function_says_why_it_cannot_be_saved(path):
    with pytest.raises(LogError, match="cannot be saved, since files hold no code; keep the function in a module"):
        Function(np.sign).save(path)


def test_a_part_of_a_file_is_refused_wherever_it_was_cut(saved):
    whole = saved.read_bytes()
    for length in range(0, len(whole), 7):
        saved.write_bytes(whole[:length])
        with pytest.raises(LogError, match=r"is no saved encoder|damaged"):
            load(saved)


def test_a_changed_byte_is_noticed_or_changes_nothing(saved):
    whole, encoder = saved.read_bytes(), load(saved)
    n_noticed = 0
    for place in range(0, len(whole), 5):
        saved.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        try:
            assert_same(load(saved), encoder, X)
        except LogError:
            n_noticed += 1
    assert n_noticed > len(whole) // 5 * 0.7


def test_a_changed_array_is_named(saved):
    with np.load(saved) as archive:
        members = dict(archive)
    members["centers"] = members["centers"] + 1
    np.savez(saved, **members)
    with pytest.raises(LogError, match="has been changed: its centers is not what was saved"):
        load(saved)


def test_a_changed_header_is_noticed(saved):
    with np.load(saved) as archive:
        members = dict(archive)
    members["header"] = np.frombuffer(members["header"].tobytes().replace(b'"seed": 0', b'"seed": 1'), dtype=np.uint8)
    np.savez(saved, **members)
    with pytest.raises(LogError, match="its header is not what was saved"):
        load(saved)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda header, members: header.update(format=FORMAT + 1), "pip install --upgrade understudy"),
        (lambda header, members: header.update(encoder="os.system"), "holds an encoder 'os.system', which is none of"),
        (lambda header, members: header.update(encoder=["KMeans"]), r"holds an encoder \['KMeans'\], which is none of"),
        (lambda header, members: header.pop("settings"), "header cannot be read"),
        (lambda header, members: header.update(form=["complex", [2]]), "no complex observations"),
        (lambda header, members: header.update(form=["float", [3]]), "no KMeans that fits together"),
        (lambda header, members: header.update(form=None), "form of its observations is missing"),
        (lambda header, members: header["settings"].update(n_states=8), r"centers are \(7, 2\), not \(8, 2\)"),
        (lambda header, members: header["settings"].update(extra=8), "no KMeans that fits together"),
        (lambda header, members: members.update(centers=members["centers"].T), "no KMeans that fits together"),
        (lambda header, members: members.pop("centers"), "no KMeans that fits together"),
        (lambda header, members: members.update(scale=np.array([1, np.inf])), "no KMeans that fits together"),
    ],
)
def test_what_does_not_fit_together_is_refused_though_its_digests_do(saved, change, words):
    header, members = members_of(saved)
    change(header, members)
    rewrite(saved, header, members)
    with pytest.raises(LogError, match=words):
        load(saved)


def test_a_newer_file_is_known_by_its_version_whatever_else_it_does_otherwise(saved):
    with np.load(saved) as archive:
        members = dict(archive)
    members["header"] = np.frombuffer(members["header"].tobytes().replace(b'"format": 1', b'"format": 2'), np.uint8)
    np.savez(saved, **members)
    with pytest.raises(LogError, match=r"is of format 2, .* reads formats up to 1; pip install --upgrade understudy"):
        load(saved)


def test_homers_weights_have_to_fit(homer, path):
    homer.save(path)
    header, members = members_of(path)
    name = next(name for name in members if "weight" in name)
    for wrong in (members[name][:-1], members[name] * np.float32(np.nan), members[name].astype(np.float64)):
        rewrite(path, dict(header), {**members, name: wrong})
        with pytest.raises(LogError, match="no Homer that fits together"):
            load(path)


class Trap:
    """Unpickling this would tell."""

    def __reduce__(self):
        return (sys.exit, ("unpickled",))


def test_no_pickle_is_read(path):
    np.savez(path, header=np.array([Trap()], dtype=object))
    with pytest.raises(LogError, match="damaged"):
        load(path)


def test_what_is_no_encoder_is_refused(path, tmp_path):
    path.write_text("x,y\n1,2\n")
    with pytest.raises(LogError, match="is no saved encoder"):
        load(path)
    np.savez(path, weights=np.zeros(3))
    with pytest.raises(LogError, match="it has no header"):
        load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.npy", b"nonsense")
    with pytest.raises(LogError, match=r"damaged|no header"):
        load(path)
    with pytest.raises(LogError, match=r"cannot read .*: No such file"):
        load(tmp_path / "nothing.npz")
    with pytest.raises(LogError, match="cannot read"):
        load(tmp_path)


def test_a_write_that_fails_leaves_what_was_there(saved, log_of, monkeypatch):
    before = saved.read_bytes()

    def full(file, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(LogError, match="No space left on device; make room"):
        KMeans(3).fit(log_of(X)).save(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_folder_that_is_not_there_is_said(tmp_path):
    with pytest.raises(LogError, match="cannot write"):
        Identity().save(tmp_path / "nowhere" / "encoder.npz")


def test_without_torch_the_line_that_installs_it_is_said(homer, path, monkeypatch):
    homer.save(path)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r'Homer needs torch: pip install "understudy\[torch\]"'):
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
