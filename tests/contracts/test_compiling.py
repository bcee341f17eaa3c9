"""Kernels are compiled wherever they are, with a cache where there is a place for one."""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core import config

import understudy
from understudy.contracts.compiling import kernel, routine


def without_override():
    """Give up root's right to ignore permissions, in a process that is about to be started."""
    libc = ctypes.CDLL(None)
    for capability in (1, 2):  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@pytest.fixture
def unwritable(tmp_path):
    """A copy of the package, and a home, that nobody may write to."""
    shutil.copytree(Path(understudy.__file__).parent, tmp_path / "understudy", ignore=shutil.ignore_patterns("*.pyc"))
    (tmp_path / "home").mkdir()
    folders = [tmp_path, *(path for path in tmp_path.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    yield tmp_path
    for folder in folders:
        folder.chmod(0o755)


@pytest.mark.skipif(sys.platform != "linux", reason="permissions are given up in Linux's way")
def test_the_package_works_where_nothing_can_be_written(unwritable):
    code = (
        "import understudy, numpy as np\n"
        "from understudy.simulators.index import grouped\n"
        "print(understudy.__file__, grouped(np.array([1, 0, 1]), 2)[1].tolist())"
    )
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LD_LIBRARY_PATH")}
    found = subprocess.run(
        [sys.executable, "-c", code], cwd="/", preexec_fn=without_override, capture_output=True, text=True, timeout=120,
        env=kept | {"PYTHONPATH": str(unwritable), "HOME": str(unwritable / "home")}, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert found.stdout == f"{unwritable}/understudy/__init__.py [1, 0, 2]\n"
    assert "Traceback" not in found.stderr


def doubled(x):
    return 2 * x


@pytest.mark.parametrize("compile_", [kernel, routine])
def test_a_cache_folder_that_is_lost_after_import_costs_time_only(tmp_path, monkeypatch, compile_):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "cache"))
    function = compile_(doubled)
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").write_text("a file in the folder's place: neither read nor written to")
    assert function(3) == 6


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("content", [b"", b"junk", b"\x80\x04\x95"])
def test_a_damaged_cache_is_made_anew(tmp_path, monkeypatch, ending, content):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    assert routine(doubled)(3) == 6
    for path in tmp_path.rglob(f"*.{ending}"):
        path.write_bytes(content)
    assert routine(doubled)(3) == 6


def test_what_was_compiled_is_kept_where_that_is_possible(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    routine(doubled)(3)
    again = routine(doubled)
    again(3)
    assert sum(again.stats.cache_hits.values()) == 1


def test_nothing_is_compiled_past_these():
    package = Path(understudy.__file__).parent
    assert [path.name for path in package.rglob("*.py") if "njit(" in path.read_text()] == ["compiling.py"]


USES_A_KERNEL_OF_ANOTHER_FILE = """
import sys
sys.path.insert(0, {folder!r})
import understudy
from understudy.registration_probe import tripled_by_another
print(tripled_by_another(2))
"""


def test_a_kernel_that_has_changed_in_another_file_is_compiled_again(tmp_path):
    """Numba keeps a loop by the file that it is in; what is merged into it may be in another one."""
    package = tmp_path / "understudy"
    shutil.copytree(Path(understudy.__file__).parent, package, ignore=shutil.ignore_patterns("*.pyc", "*.nb?"))
    other = package / "registration_other.py"
    (package / "registration_probe.py").write_text(
        "from understudy.contracts.compiling import routine\n"
        "from understudy.registration_other import times\n\n\n"
        "@routine\ndef tripled_by_another(x):\n    return times(x)\n"
    )
    told = []
    for factor in (3, 5):
        other.write_text(
            f"from understudy.contracts.compiling import kernel\n\n\n@kernel\ndef times(x):\n    return {factor} * x\n"
        )
        done = subprocess.run(
            [sys.executable, "-B", "-c", USES_A_KERNEL_OF_ANOTHER_FILE.format(folder=str(tmp_path))],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        told.append(done.stdout.strip())
        os.utime(other, (1, 1))  # as if it were older: what counts is that it differs
    assert told == ["6", "10"]
