"""Forward: states are observations from which the same follows."""

from typing import Any

import numpy as np
import torch

from understudy.contracts import Log
from understudy.contracts.devices import device_of, one_thread
from understudy.contracts.progress import progress_bar
from understudy.encoders import files
from understudy.encoders.audit import audit
from understudy.encoders.features import Features
from understudy.encoders.finding import ROUND, Bank, described, nearest
from understudy.encoders.forecast import DIMENSION, Examples, Forecast, is_image, trained_forecast
from understudy.encoders.options import losses_of, same_options
from understudy.encoders.search import Search
from understudy.encoders.training import (
    arrays_of,
    check_split,
    filled,
    in_chunks,
    learnable,
    split_rows,
)
from understudy.errors import LogError
from understudy.settings import positive, whole

FEWEST_ROWS = 200  # of a log


class Forward:
    """States are observations after which reward, termination and next observation have one law, whatever the action.

    That is what replay needs (A1), no less and no more. The number of states is found, not given.

    A model is trained to tell a row's outcome from those of other rows (`forecast`), and each observation is described
    by what it forecasts for every action. Dense groups of descriptions, within `radius` of each other (Hellinger's
    distance, squared), are states; those that a test on rows held out cannot tell apart are merged, and one within
    which the observation still predicts the outcome is looked at more finely. The share `held_out` of the *episodes* is
    never trained on; training ends when the loss there has not fallen for `patience` looks (one in a hundred steps),
    and the best weights are kept.

    Vectors, images of at least 8 x 8 pixels, and single integers, which need to repeat. Integers that the log does not
    have, NaN and infinite observations have no state (-1).

    What it can merge wrongly for replay: observations whose outcomes differ too little, or under actions taken too
    rarely, for the log to show it; a state with less than a hundredth of the rows whose outcomes are a mixture of
    those of others; and a strip along the borders of states, narrower the more rows there are. A clock or counter that
    the learner sees makes a state of each of its values: right, and short (`exo_psrs` is for those). Where
    observations do not fall into groups, `fit` says so and refuses.
    """

    save, audit = files.save, audit
    fits = 0

    def __init__(
        self,
        seed: int = 0,
        *,
        radius: float = 0.02,
        width: int = 128,
        learning_rate: float = 3e-3,
        batch_size: int = 512,
        steps: int = 2500,
        patience: int = 10,
        held_out: float = 0.2,
        device: str | None = None,
        progress: bool | None = None,
    ) -> None:
        if positive("radius", radius) >= 1:
            raise LogError(f"radius is {radius}; it is between 0 and 1")
        counts = {"width": width, "batch_size": batch_size, "steps": steps, "patience": patience}
        self._options: dict[str, Any] = {
            "seed": whole("seed", seed, least=None), "radius": float(radius),
            "learning_rate": positive("learning_rate", learning_rate), "held_out": check_split(held_out),
        } | {name: whole(name, count) for name, count in counts.items()}  # fmt: skip
        self.device, self.progress = device, progress
        self.fitted_on: str | None = None
        self.loss: float | None = None  # on rows held out
        self.losses: list[float] = []
        self._features: Features | None = None
        self._net: Forecast | None = None
        self._bank = Bank(torch.empty(0), torch.empty(0))
        self._centers = torch.empty(0)  # (k, actions, m)
        self._state_of = np.empty(0, dtype=np.int64)  # (k,): of each center

    @property
    def fitted(self) -> bool:
        """Whether it has been trained."""
        return self._net is not None

    @property
    def n_states(self) -> int | None:
        """The number of states found."""
        return int(self._state_of.max()) + 1 if self.fitted else None

    def fit(self, log: Log) -> "Forward":
        """Train on most of the log's episodes, then find states, and test them on the others."""
        features = scaled(learnable(log, "Forward", FEWEST_ROWS))
        examples = Examples(log, features, device_of(self.device))
        rows, held = split_rows(log, self._options["held_out"], "episodes", self._options["seed"])
        # In one thread: with several, the states would depend on how many there are.
        with progress_bar("training Forward", self._options["steps"], self.progress) as report, one_thread():
            net, best = trained_forecast(examples, rows, held, self._options, report)
            search = Search(examples, net, held, self._options)
            centers, self._state_of = search.states()
        self._net, self._features = net.cpu(), features
        self._bank, self._centers = Bank(*(part.cpu() for part in search.bank)), centers.cpu()
        self.loss, self.losses, self.fitted_on = best.loss, best.losses, log.fingerprint
        self.fits += 1
        return self

    def encode(self, observations: np.ndarray) -> np.ndarray:
        if self._net is None or self._features is None:
            raise LogError("this Forward is not trained yet: call fit(log) first")
        features = self._features(observations)
        known = self._features.finite(features)
        states = np.full(len(features), -1, dtype=np.int64)
        kept, net, bank, centers = features[known], self._net, self._bank, self._centers
        place: Any = slice(None)
        if self._features.discrete:
            kept, place = np.unique(kept, return_inverse=True)
        chosen = in_chunks(lambda x: nearest(described(net.phi(x), bank), centers), torch.from_numpy(kept), ROUND)
        states[known] = self._state_of[chosen.numpy()][place]
        return states

    @property
    def settings(self) -> dict[str, Any]:
        """What it is, as plain values; what it learned by its digests."""
        learned = {name: files.array_digest(array) for name, array in self._arrays().items()} if self.fitted else {}
        return {"encoder": "Forward", **self._options, **({"learned": learned} if learned else {})}

    def _arrays(self) -> dict[str, np.ndarray]:
        assert self._net is not None
        found = {"outcomes": self._bank.outcomes, "weight": self._bank.weight, "centers": self._centers}
        return (
            {f"net {name}": array for name, array in arrays_of(self._net).items()}
            | {name: tensor.cpu().numpy() for name, tensor in found.items()}
            | {"state_of": self._state_of}
        )

    def contents(self) -> files.Contents:
        """What it is, to be saved."""
        if self._net is None or self._features is None:
            raise LogError("this Forward has nothing to save yet: call fit(log) first")
        settings = {
            "options": self._options, "n_actions": self._net.n_actions, "n_signals": self._net.n_signals,
            "loss": self.loss, "losses": self.losses,
        }  # fmt: skip
        arrays = {f"features {name}": array for name, array in self._features.arrays.items()} | self._arrays()
        return files.Contents(settings, self._features.form, arrays, self.fitted_on)

    @classmethod
    def from_contents(cls, contents: files.Contents) -> "Forward":
        """The Forward that these are the contents of."""
        if contents.form is None:
            raise LogError("the form of its observations is missing")
        settings, arrays = contents.settings, contents.arrays
        files.only("its settings", settings, ("options", "n_actions", "n_signals", "losses", "loss"))
        forward = cls(**settings["options"])
        same_options(forward._options, settings["options"])
        parts: dict[str, dict[str, np.ndarray]] = {
            part: {name.removeprefix(part): array for name, array in arrays.items() if name.startswith(part)}
            for part in ("features ", "net ")
        }
        found = {name: array for name, array in arrays.items() if not name.startswith(tuple(parts))}
        files.only("its arrays", found, ("outcomes", "weight", "centers", "state_of"))
        features = forward._features = Features(contents.form, parts["features "])
        n_actions, n_signals = (whole(name, settings[name]) for name in ("n_actions", "n_signals"))
        net = filled(lambda: Forecast(features, n_actions, n_signals, forward._options["width"]), parts["net "])
        state_of = found.pop("state_of")
        m, k = found["weight"].size, len(state_of) if state_of.ndim == 1 else 0
        wanted = {"outcomes": (m, DIMENSION), "weight": (m,), "centers": (k, n_actions, m)}
        if {name: array.shape for name, array in found.items()} != wanted or not m or not k:
            raise LogError("the bank, the centers and the states are not of one search")
        if any(array.dtype != np.float32 or not np.isfinite(array).all() for array in found.values()):
            raise LogError("the bank or the centers are not finite numbers")
        if state_of.dtype != np.int64 or not np.array_equal(np.unique(state_of), np.arange(state_of.max() + 1)):
            raise LogError("states are numbers from 0 up, each that of some center")
        outcomes, weight, centers = (torch.from_numpy(found[name]) for name in wanted)
        forward._net, forward._bank, forward._centers = net, Bank(outcomes, weight), centers
        forward._state_of, forward.fitted_on = state_of, contents.fitted_on
        forward.loss, forward.losses = losses_of(settings)
        return forward

    def describe(self, state: int) -> str:
        """The state's number: more is not known of one."""
        return f"learned state {state}"

    def __repr__(self) -> str:
        states = f", {self.n_states} states" if self.fitted else ""
        return f"Forward(seed={self._options['seed']}{states})" + ("" if self.fitted else "  # not fitted")


def scaled(features: Features) -> Features:
    """Features whose pixels share one scale, where they are images: rare ones would be blown up otherwise."""
    if features.discrete or not is_image(features.form):
        return features
    scale = np.full_like(features.scale, np.sqrt(np.mean(np.square(features.scale))))
    return Features(features.form, {"center": features.center, "scale": scale})
