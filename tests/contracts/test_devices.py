import numpy as np
import pytest
import torch

from understudy.contracts.devices import device_of
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
