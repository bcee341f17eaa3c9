"""Forward: states are observations from which the same follows."""

from typing import Any

import numpy as np
import torch

from understudy.contracts import Log
from understudy.contracts.devices import device_of, one_thread
from understudy.contracts.encoding import EncoderContents
from understudy.encoders import files
from understudy.encoders.auditing import audit
from understudy.encoders.clustering import ROUND, OutcomeBank, embeddings_of, nearest
from understudy.encoders.contents import check_names, check_options, losses_of, observation_of, with_prefix
from understudy.encoders.features import Features
from understudy.encoders.forecast import DIMENSION, ForecastNet, RowLoader, is_image, trained_forecast
from understudy.encoders.state_search import StateSearch
from understudy.encoders.training import (
    check_split,
    features_of_log,
    in_chunks,
    module_with_weights,
    split_rows,
    weights_of,
)
from understudy.errors import EncoderError, SettingError
from understudy.progress import progress_bar
from understudy.settings import positive, whole

FEWEST_ROWS = 200  # of a log


class Forward:
    """A state is a set of observations after which reward, termination and next observation have one law, by action.

    That is what replay needs (A1), no less and no more. The number of states is found, not given.

    A network is trained to tell a row's outcome from those of other rows (`forecast`). The embedding of an observation
    is what the network forecasts for every action. Dense groups of embeddings, within `radius` of each other (squared
    Hellinger distance), are states; those that a test on rows held out cannot tell apart are merged, and a state within
    which the observation still predicts the outcome is split. The share `held_out` of the *episodes* is never trained
    on; training ends when the loss there has not fallen for `patience` checks (one in a hundred steps), and the best
    weights are kept.

    Observations are vectors, images of at least 8 x 8 pixels, or single integers, which need to repeat. Integers that
    the log does not have, NaN and infinite observations have no state (-1).

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
            raise SettingError(f"radius is {radius}; it is between 0 and 1")
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
        self._net: ForecastNet | None = None
        self._bank = OutcomeBank(torch.empty(0), torch.empty(0))
        self._centers = torch.empty(0)  # (k, actions, m)
        self._state_of = np.empty(0, dtype=np.int64)  # (k,): the state of each center

    @property
    def fitted(self) -> bool:
        """True once `fit` was called."""
        return self._net is not None

    @property
    def n_states(self) -> int | None:
        """The number of states found; None before `fit`."""
        return int(self._state_of.max()) + 1 if self.fitted else None

    def fit(self, log: Log) -> "Forward":
        """Train on most of the log's episodes, then find states, and test them on the others."""
        features = with_one_scale(features_of_log(log, "Forward", FEWEST_ROWS))
        loader = RowLoader(log, features, device_of(self.device))
        rows, held = split_rows(log, self._options["held_out"], "episodes", self._options["seed"])
        # In one thread: with several, the states would depend on how many there are.
        with progress_bar("training Forward", self._options["steps"], self.progress) as report, one_thread():
            net, best = trained_forecast(loader, rows, held, self._options, report)
            search = StateSearch(loader, net, held, self._options)
            centers, self._state_of = search.states()
        self._net, self._features = net.cpu(), features
        self._bank, self._centers = OutcomeBank(*(part.cpu() for part in search.bank)), centers.cpu()
        self.loss, self.losses, self.fitted_on = best.loss, best.losses, log.fingerprint
        self.fits += 1
        return self

    def encode(self, observations: np.ndarray) -> np.ndarray:
        if self._net is None or self._features is None:
            raise EncoderError("this Forward is not trained yet: call fit(log) first")
        features = self._features(observations)
        known = self._features.known(features)
        states = np.full(len(features), -1, dtype=np.int64)
        kept, net, bank, centers = features[known], self._net, self._bank, self._centers
        repeated: Any = slice(None)
        if self._features.discrete:
            kept, repeated = np.unique(kept, return_inverse=True)
        center = in_chunks(lambda x: nearest(embeddings_of(net.phi(x), bank), centers), torch.from_numpy(kept), ROUND)
        states[known] = self._state_of[center.numpy()][repeated]
        return states

    def descriptions(self, observations: np.ndarray) -> np.ndarray:
        """Return what is predicted for observations: for each action the roots of probabilities of some outcomes.

        Those without a state have NaN.
        """
        if self._net is None or self._features is None:
            raise EncoderError("this Forward is not trained yet: call fit(log) first")
        features = self._features(observations)
        known, net, bank = self._features.known(features), self._net, self._bank
        found = np.full((len(features), *self._centers.shape[1:]), np.nan, dtype=np.float32)
        kept = torch.from_numpy(features[known])
        found[known] = in_chunks(lambda x: embeddings_of(net.phi(x), bank), kept, ROUND).numpy() if len(kept) else 0.0
        return found

    @property
    def settings(self) -> dict[str, Any]:
        """The options, and digests of what was learned."""
        learned = {name: files.array_digest(array) for name, array in self._arrays().items()} if self.fitted else {}
        return {"encoder": "Forward", **self._options, **({"learned": learned} if learned else {})}

    def _arrays(self) -> dict[str, np.ndarray]:
        """Return what was learned, by name."""
        assert self._net is not None
        found = {"outcomes": self._bank.outcomes, "weight": self._bank.weight, "centers": self._centers}
        return (
            {f"net {name}": array for name, array in weights_of(self._net).items()}
            | {name: tensor.cpu().numpy() for name, tensor in found.items()}
            | {"state_of": self._state_of}
        )

    def contents(self) -> EncoderContents:
        if self._net is None or self._features is None:
            raise EncoderError("this Forward has nothing to save yet: call fit(log) first")
        settings = {
            "options": self._options, "n_actions": self._net.n_actions, "n_signals": self._net.n_signals,
            "loss": self.loss, "losses": self.losses,
        }  # fmt: skip
        arrays = {f"features {name}": array for name, array in self._features.arrays.items()} | self._arrays()
        return EncoderContents(settings, arrays, self._features.observation, self.fitted_on)

    @classmethod
    def from_contents(cls, contents: EncoderContents) -> "Forward":
        observation, settings, arrays = observation_of(contents), contents.settings, contents.arrays
        check_names("its settings", settings, ("options", "n_actions", "n_signals", "losses", "loss"))
        forward = cls(**settings["options"])
        check_options(forward._options, settings["options"])
        found = {name: array for name, array in arrays.items() if not name.startswith(("features ", "net "))}
        check_names("its arrays", found, ("outcomes", "weight", "centers", "state_of"))
        features = forward._features = Features(observation, with_prefix(arrays, "features "))
        n_actions, n_signals = (whole(name, settings[name]) for name in ("n_actions", "n_signals"))
        width = forward._options["width"]
        net = module_with_weights(
            lambda: ForecastNet(features, n_actions, n_signals, width), with_prefix(arrays, "net ")
        )
        state_of = found.pop("state_of")
        m, k = found["weight"].size, len(state_of) if state_of.ndim == 1 else 0
        expected = {"outcomes": (m, DIMENSION), "weight": (m,), "centers": (k, n_actions, m)}
        if {name: array.shape for name, array in found.items()} != expected or not m or not k:
            raise EncoderError("the bank, the centers and the states are not of one search")
        if any(array.dtype != np.float32 or not np.isfinite(array).all() for array in found.values()):
            raise EncoderError("the bank or the centers are not finite numbers")
        if state_of.dtype != np.int64 or not np.array_equal(np.unique(state_of), np.arange(state_of.max() + 1)):
            raise EncoderError("states are numbers from 0 up, each that of some center")
        outcomes, weight, centers = (torch.from_numpy(found[name]) for name in expected)
        forward._net, forward._bank, forward._centers = net, OutcomeBank(outcomes, weight), centers
        forward._state_of, forward.fitted_on = state_of, contents.fitted_on
        forward.loss, forward.losses = losses_of(settings)
        return forward

    def describe_state(self, state: int) -> str:
        """Return the state's number in words: more is not known of it."""
        return f"learned state {state}"

    def __repr__(self) -> str:
        states = f", {self.n_states} states" if self.fitted else ""
        return f"Forward(seed={self._options['seed']}{states})" + ("" if self.fitted else "  # not fitted")


def with_one_scale(features: Features) -> Features:
    """Return the features of images with one scale for all pixels, since pixels that rarely vary would dominate.

    Other features are returned as they are.
    """
    if features.discrete or not is_image(features.observation):
        return features
    scale = np.full_like(features.scale, np.sqrt(np.mean(np.square(features.scale))))
    return Features(features.observation, {"center": features.center, "scale": scale})
