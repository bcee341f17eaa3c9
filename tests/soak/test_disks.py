import pytest

from soak.disks import can_mount, fill_beside, limited_writes, small_disk


def test_what_does_not_fit_is_not_written_in_part(tmp_path):
    assert limited_writes(tmp_path) == []


def test_what_fits_is_noticed(tmp_path):
    assert any("though it does not fit" in wrong for wrong in limited_writes(tmp_path, octets=10_000_000))


@pytest.mark.skipif(not can_mount(), reason="mounting a small disk needs root on Linux")
def test_a_small_disk_is_full_soon(tmp_path):
    with small_disk(tmp_path / "disk", 16) as disk, pytest.raises(OSError, match="No space left"):
        (disk / "file").write_bytes(bytes(100_000))
    assert not (tmp_path / "disk").exists()


@pytest.mark.slow
@pytest.mark.skipif(not can_mount(), reason="mounting a small disk needs root on Linux")
def test_a_full_folder_for_temporary_files_ends_in_a_sentence(tmp_path):
    found = fill_beside("TMPDIR", 8, tmp_path)
    assert found.wrong == []
    assert found.code == 2
