from soak import record
from soak.disks import Filled
from soak.drivers import Met
from soak.kills import Kill, Killed
from soak.nodes import Struck

INPUTS = {
    "seed": 0, "seconds": 120.0, "day": "2026-11-16", "peak": 5 << 20,
    "counts": {"csv": {"refused": 7, "read": 2}, "vw": {"refused": 1, "crash": 1}}, "wrong": [{"kind": "vw"}],
}  # fmt: skip


def test_parts_are_kept_beside_each_other(tmp_path):
    file = tmp_path / "record.json"
    assert record.update(file, "inputs", INPUTS) == {"inputs": INPUTS}
    both = record.update(file, "disks", {"wrong": []})
    assert both == {"inputs": INPUTS, "disks": {"wrong": []}}
    assert record.n_wrong(both) == 1


def test_a_line_of_inputs_shows_what_should_not_have_happened():
    table = record.inputs_table(INPUTS)
    assert "| csv | 9 | 7 | 2 | 0 | 0 | 0 | 0 |" in table
    assert "| vw | 2 | 1 | 0 | 0 | 0 | 0 | 1 crash |" in table
    assert "| all | 11 | 8 | 2 | 0 | 0 | 0 | 1 crash |" in table
    assert "Seed 0, 2 minutes, 2026-11-16. The largest process grew by 5 MiB." in table


def test_faults_are_counted_by_what_was_done():
    kills = [
        Killed("halves", [Kill("driver", "SIGKILL", "at 5%", -9, 0), Kill("worker", "SIGTERM", "at 9%", 0, 0)], 4, []),
        Killed("halves", [Kill("driver", "SIGKILL", "at 7%", 0, 0)], 3, ["lost"]),
    ]
    part = {"seed": 0, "seconds": 60.0, "day": "today", "wrong": [], "lines": record.kill_lines(kills)}
    disks = part | {"lines": record.disk_lines([Filled("TMPDIR", 8, "halves", 2, "full", [])])}
    drivers = part | {"lines": record.driver_lines([Met("halves twice", (0, 0), []), Met("different", (0, 2), ["x"])])}
    nodes = part | {"lines": record.node_lines([Struck("node", "at 5%", 0, [])])}
    table = record.faults_table({"kills": part, "disks": disks, "drivers": drivers, "nodes": nodes})
    assert "| SIGKILL to the driver | 2 | exit -9: 1, exit 0: 1 | 1 |" in table
    assert "| SIGTERM to a worker | 1 | exit 0: 1 | 0 |" in table
    assert "7 runs that a reader had loaded on the way are still there | 1 |" in table
    assert (
        "| a full disk under temporary files | 1 | a sentence and exit 2; went on once there was room: 1 | 0 |" in table
    )
    assert "| two drivers on one folder, different experiments | 1 | the second was refused | 1 |" in table
    assert "| Ray, three nodes: a node removed | 1 | exit 0: 1; runs bit-equal | 0 |" in table
