"""The index of a log on disk: columns mapped from the log's own files, and what is beside them, made once.

Rows are not stored again: a record is made of columns when it is put into a queue. What an index adds is small: where
episodes begin, their openings, how many rows each state and action has, and the states themselves where they are not
the log's codes. It is made part by part, and each part is stored as soon as it is made: where a process is killed, the
next one goes on at the part that is missing.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from understudy.contracts import Encoder, Log
from understudy.contracts.encoding import Savable, check_encodes
from understudy.contracts.fitting import ensure_fitted
from understudy.contracts.offering import offers
from understudy.errors import EncoderError, LogError
from understudy.logs.episodes import take_episodes
from understudy.logs.on_disk import LogPlace, place_of
from understudy.logs.source_files import shown_path
from understudy.mapped import ArrayRoom, blocks, give_back, made_in, new_array, reserved
from understudy.simulators import index as in_memory
from understudy.simulators.coding import LOG_POSITIONS, opening_positions
from understudy.simulators.index import Index
from understudy.simulators.index_arrays import (
    count_rows,
    episodes_and_openings,
    largest_number,
    queues_by_action,
    states_in_files,
    vectors_in_files,
)
from understudy.simulators.kernels.records import RecordColumns
from understudy.simulators.kernels.tape import OPENING
from understudy.simulators.read_only import read_only
from understudy.stored_arrays import (
    DAMAGED,
    Manifest,
    in_scratch,
    locked,
    made_beside,
    opened_arrays,
    read_manifest,
    remembered,
    remove_others,
    store_arrays,
    write_manifest,
)

KIND = "index on disk"
NONE = np.empty(0, np.int32)
Arrays = dict[str, np.ndarray]
Make = Callable[[], tuple[Arrays, dict[str, Any]]]
"""A function that makes arrays of an index, and facts about it in values of JSON."""

Part = Callable[[str, Make], tuple[Arrays, dict[str, Any]]]
"""A function that takes the name of a part of an index, and returns what its `Make` does: from files, if there are."""


@dataclass(frozen=True, eq=False)
class IndexOnDisk:
    """What an index has more where its log is on disk."""

    episodes: np.ndarray  # (E, 3) int32, as Tape.episodes
    counts: np.ndarray  # (n_states, A) int64: the number of rows of each state and action
    largest: np.ndarray  # (1,) as `largest_observation` returns it
    single: bool  # True if each state is one observation
    place: LogPlace | None  # of the log; None where the log is a selection, which nobody opens again
    name: str  # of the index, among those of its log

    def queues(self, index: Index) -> np.ndarray:
        """Return the queue of each row by state and action, (N,) int32: made once, and kept beside the index."""

        def make() -> tuple[Arrays, dict[str, Any]]:
            return {"queue": queues_by_action(index.state, index.log.action, index.log.spec.n_actions)}, {}

        if self.place is not None:
            return stored(index.log, self.place, f"{self.name}-queues", make, index.state)[0]["queue"]
        with made_beside(index.log.action, *index.log.columns.values()):
            return make()[0]["queue"]

    def remembered(self, fingerprint: Callable[[], str]) -> str:
        """Return a fingerprint, from a file beside the index if it was made before."""
        if self.place is None:
            return fingerprint()
        return remembered(self.place.folder / f"index-{self.name}-fingerprint.json", self.place.digest, fingerprint)

    def coded(self, index: Index, codes: Any) -> tuple[RecordColumns, np.ndarray]:
        """Return what `Index.coded` does; a learner's codes are in a file that is gone with them."""
        if codes is None:
            return index.records, index.opening
        log = index.log
        with made_beside(log.action, *log.columns.values()):
            opening = new_array(len(index.opening), OPENING)
            for some in blocks(len(opening)):
                opening[some] = index.opening[some]
                first = opening["row"][some]
                opening["code"][some] = (
                    opening_positions(len(log), range(some.start, some.stop))
                    if codes is LOG_POSITIONS
                    else codes.batch(log.observation[first])
                )
            code = NONE if codes is LOG_POSITIONS else new_array(len(log), np.int32)
            for rows in blocks(len(code)):
                code[rows] = codes.batch(log.next_observation[rows], ~log.terminated[rows])
        return index.records._replace(next_code=code), opening

    def select(self, index: Index, episodes: np.ndarray) -> Index:
        """Return what `Index.select` does: the selected rows are written into files that are gone with it."""
        episodes = np.asarray(episodes)
        episodes = np.flatnonzero(episodes) if episodes.dtype == bool else episodes
        log, records = index.log.select(episodes), index.records
        shared = {id(column): log.columns[name] for name, column in index.log.columns.items()}

        def chosen(array: np.ndarray) -> np.ndarray:
            return shared[id(array)] if id(array) in shared else take_episodes(array, index.log.starts, episodes)

        with made_beside(index.log.action, *index.log.columns.values()):
            state, next_state = chosen(index.state), chosen(records.next_state)
            code = NONE if not len(records.next_code) else chosen(records.next_code)
            vector = NONE if not len(records.vector) else chosen(records.vector)
            bounds, opening = episodes_and_openings(log, state)
            counts = count_rows(state, log.action, index.n_states, log.spec.n_actions)
            made = RecordColumns(log.reward, next_state, code, vector, log.action, full(log.terminated))
        beside = replace(self, episodes=read_only(bounds), counts=read_only(counts), place=None)
        return replace(index, log=log, state=state, records=read_only(made), opening=opening, on_disk=beside)


def index(log: Log, encoder: Encoder | None, *, propensities: bool = False) -> Index:
    """Return the index of a log: on disk where the log is, and in memory elsewhere. Raise what `index.index` raises."""
    if not isinstance(log, Log) or not (place_of(log) or in_scratch(log.action)):
        return in_memory.index(log, encoder, propensities=propensities)
    place = place_of(log)
    if encoder is not None:
        check_encodes(encoder)
        encoder = ensure_fitted(encoder, log)
    name = name_of_index(encoder, propensities)

    if name is None or place is None:
        with made_beside(log.action, *log.columns.values()):
            return opened(log, *made_of_parts(log, encoder, propensities, lambda _, make: make()), None, "")

    made: list[np.ndarray] = []

    def part(of: str, make: Make) -> tuple[Arrays, dict[str, Any]]:
        arrays, facts = stored(log, place, f"{name}-{of}", make, *made)
        made.extend(arrays.values())
        return arrays, facts

    arrays, facts = made_of_parts(log, encoder, propensities, part)
    log.__dict__["_first_error"] = None  # or there would be no index
    try:
        return opened(log, arrays, facts, place, name)
    except (ValueError, KeyError, TypeError) as error:
        raise LogError(f"{shown_path(place.folder)} holds {DAMAGED.format('index', error)}", "file") from None


def name_of_index(encoder: Encoder | None, propensities: bool) -> str | None:
    """Return the name of an index among those of a log, by what its states are of; None where nobody can tell.

    Of an encoder that others wrote, the settings may stay while its code changes.
    """
    digest = blake2b(b"index 1" + bytes([propensities]), digest_size=12)
    if encoder is not None:
        if not offers(encoder, Savable) or type(encoder).__module__.partition(".")[0] != __name__.partition(".")[0]:
            return None
        contents = encoder.contents()
        digest.update(f"{type(encoder).__qualname__} {contents.settings!r}".encode())
        for name, array in contents.arrays.items():
            digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data.cast("B"))
    return digest.hexdigest()


def made_of_parts(
    log: Log, encoder: Encoder | None, propensities: bool, part: Part
) -> tuple[Arrays, dict[str, Any]]:  # fmt: skip
    """Return the arrays of an index that are not columns of the log, and facts about it."""

    def checked() -> tuple[Arrays, dict[str, Any]]:
        log.require_no_errors()
        return {}, {}

    def states() -> tuple[Arrays, dict[str, Any]]:
        return {name: array for name, array in states_in_files(log, encoder).items() if array is not None}, {}

    def episodes() -> tuple[Arrays, dict[str, Any]]:
        return dict(zip(("episodes", "opening"), episodes_and_openings(log, state), strict=True)), {}

    def vectors() -> tuple[Arrays, dict[str, Any]]:
        vector, inverse = vectors_in_files(log if propensities else None, log.spec.n_actions)
        return {"inverse_propensity": inverse} | ({} if vector is None else {"vector": vector}), {}

    def codes() -> tuple[Arrays, dict[str, Any]]:
        code = log.next_observation
        known = code.dtype == np.int32 or (encoder is None and "encoder_numbers" not in arrays)
        return ({} if log.spec.n_observations is None or known else {"next_code": codes_of(code)}), {}

    def counts() -> tuple[Arrays, dict[str, Any]]:
        largest = largest_number(state, next_state)
        if int(state.max()) < 0:
            raise EncoderError("the encoder has no state for any observation of this log; fit it on logs like this one")
        return {"counts": count_rows(state, log.action, largest + 1, log.spec.n_actions)}, observation_facts(log)

    part("checked", checked)
    arrays = dict(part("states", states)[0])
    state, next_state = (arrays.get(name, column) for name, column in state_columns(log).items())
    found, facts = part("counts", counts)
    arrays |= found
    for name, make in {"episodes": episodes, "vectors": vectors, "codes": codes}.items():
        arrays |= part(name, make)[0]
    return arrays, facts | {"single": encoder is None}


def observation_facts(log: Log) -> dict[str, Any]:
    """Return the largest observation where observations are whole numbers, or the lowest where some are negative."""
    whole = log.observation.ndim == 1 and log.observation.dtype.kind in "iu"
    lowest = min(int(log.observation.min()), int(log.next_observation.min())) if whole else 0
    highest = max(int(log.observation.max()), int(log.next_observation.max())) if whole else 0
    return {"largest": lowest if lowest < 0 else highest}


def codes_of(code: np.ndarray) -> np.ndarray:
    """Return codes of next observations as int32; those that do not fit are in no learner's table."""
    codes = new_array(len(code), np.int32)
    for rows in blocks(len(code)):
        codes[rows] = code[rows].astype(np.int32)
    return codes


def state_columns(log: Log) -> dict[str, np.ndarray]:
    """Return the columns that are states where no others are stored."""
    return {"state": log.observation, "next_state": log.next_observation}


def opened(log: Log, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any], place: Any, name: str) -> Index:
    """Return the index of a log from its arrays. Raise `ValueError` where they cannot be those of this log."""
    state, next_state = (arrays.get(name, column) for name, column in state_columns(log).items())
    counts, numbers = arrays["counts"], arrays.get("encoder_numbers")
    code = arrays.get("next_code", next_state)
    if log.spec.n_observations is not None and log.next_observation.dtype == np.int32:
        code = log.next_observation
    records = RecordColumns(
        log.reward, next_state, code, arrays.get("vector", NONE), log.action, full(log.terminated)
    )  # fmt: skip
    shapes = [len(array) == len(log) for array in (state, next_state, code)]
    kinds = [array.dtype == np.int32 for array in (state, next_state, code, arrays["episodes"], records.vector)]
    if not all(shapes + kinds) or counts.shape[1:] != (log.spec.n_actions,) or len(arrays["opening"]) != log.n_episodes:
        raise ValueError("its arrays are not of this log")
    largest = log.observation[:1] if log.spec.n_observations is None else np.array([facts["largest"]])
    beside = IndexOnDisk(read_only(arrays["episodes"]), read_only(counts), largest, bool(facts["single"]), place, name)
    opening, inverse = arrays["opening"], arrays["inverse_propensity"]
    return Index(log, state, numbers, len(counts), read_only(records), opening, inverse, on_disk=beside)


def full(column: np.ndarray) -> np.ndarray:
    """Return a column that is one value in memory as an array of that value, for kernels; others as they are."""
    if column.flags.c_contiguous:
        return column
    return np.full(len(column), column[0]) if column[0] else reserved(len(column), column.dtype)


def stored(log: Log, place: LogPlace, name: str, make: Make, *read: np.ndarray) -> tuple[Arrays, dict[str, Any]]:
    """Return arrays and facts of this name beside a log on disk: made at the first call, mapped by all later ones.

    Those that are read besides the log meanwhile are given, so that little of them stays in memory.
    """
    path = place.folder / f"index-{name}.json"
    try:
        found = _found(place, path)
        if found is None:
            with locked(place.folder):
                found = _found(place, path)
                if found is None:
                    _make(place, path, name, make, [*log.columns.values(), *read])
        return _found(place, path) if found is None else found  # type: ignore[return-value]
    except OSError as error:
        reason = error.strerror or str(error)
        raise LogError(
            f"{shown_path(place.folder)} cannot hold the index of its log ({reason}); free space there, or read the "
            "log into a folder on a larger disk",
            "file",
        ) from None


def _found(place: LogPlace, path: Path) -> tuple[Arrays, dict[str, Any]] | None:
    """Return the arrays and facts in a file; None where there are none of this log, or they are damaged."""
    try:
        manifest = read_manifest(path, KIND)
        if manifest.facts.get("log") != place.digest:
            return None
        return opened_arrays(place.folder, manifest), manifest.facts
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _make(place: LogPlace, path: Path, name: str, make: Make, read: list[np.ndarray]) -> None:
    room = ArrayRoom(place.folder / f".making-{os.urandom(8).hex()}")
    try:
        with made_in(room, *read):
            arrays, facts = make()
            folder = f"index-{name}-{os.urandom(4).hex()}"
            told = store_arrays(place.folder / folder, arrays, room)
            give_back(*arrays.values())
            del arrays
        write_manifest(path, Manifest(KIND, folder, told, facts | {"log": place.digest}))
        remove_others(place.folder, f"index-{name}-{'[0-9a-f]' * 8}", folder)  # of a process that was killed
    finally:
        room.close()
