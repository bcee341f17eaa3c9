import numpy as np
import pytest
import torch

from understudy.contracts.devices import device_of, replayed
from understudy.encoders import Forward, Homer
from understudy.errors import SettingError
from understudy.learners import PPO
from understudy.logs import Log, Spec

MISSING = "cuda" if not torch.cuda.is_available() else f"cuda:{torch.cuda.device_count()}"


def test_a_device_that_is_there_is_taken():
    assert device_of("cpu").type == "cpu"
    assert device_of(None).type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize(("device", "message"), [("abacus", "no device 'abacus'"), (MISSING, "finds no GPU here")])
def test_a_device_that_is_not_there_is_refused(device, message):
    with pytest.raises(SettingError, match=message):
        device_of(device)


def test_whoever_asks_for_it_is_told():
    with pytest.raises(SettingError, match="finds no GPU here for device 'cuda"):
        PPO(Spec(2, None, (2,), np.dtype(float), None), device=MISSING)
    log = Log.from_columns(observation=np.arange(300.0), action=np.zeros(300, int), reward=np.zeros(300))
    for encoder in (Homer, Forward):
        with pytest.raises(SettingError, match="finds no GPU here for device 'cuda"):
            encoder(device=MISSING).fit(log)


def test_on_a_cpu_work_is_done_again_as_it_is():
    count = torch.zeros(1)

    def work():
        count.add_(1.0)

    again = replayed(work, "cpu")
    assert again is work
    assert count == 0


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA here")
def test_on_cuda_recorded_work_reads_and_writes_the_same_memory():
    given, total = torch.ones(5, device="cuda"), torch.zeros(5, device="cuda")
    again = replayed(lambda: total.add_(given * 2.0), "cuda")
    total.zero_()
    given.fill_(3.0)
    for _ in range(4):
        again()
    assert total.tolist() == [24.0] * 5
