"""What simulators, learners, encoders, environments and probes promise each other.

A class offers a capability by having the members of its protocol: the library looks for nothing else. Each protocol
says what is promised and what is gained.
"""

from understudy.contracts.backing import Backend, Closable
from understudy.contracts.encoding import (
    CountsFits,
    CountsStates,
    Encoder,
    EncoderContents,
    Encodes,
    ObservationSpec,
    RemembersLog,
    Savable,
    SaysFitted,
)
from understudy.contracts.learning import (
    BatchLearner,
    CompiledLearner,
    EpisodeAbandoner,
    EpochLearner,
    HasActionCount,
    HasCodes,
    HasEstimate,
    HasLearnedState,
    HasObservationSpace,
    HasPlannedSteps,
    HasSettings,
    HasValue,
    HasValues,
    Learner,
    LoopOwner,
    ObservationCodes,
    StackedLearner,
)
from understudy.contracts.probing import Probe
from understudy.contracts.sharing import HasSharedRun, RehearsalEnv, SharedRun
from understudy.contracts.simulating import (
    CompiledRehearsal,
    CompiledSimulator,
    HasEnv,
    HasIndex,
    HasKind,
    HasLog,
    HasObservations,
    HasOpening,
    HasState,
    HasStateCount,
    HasStatesFingerprint,
    Rehearsal,
    SaysEmissionsServed,
    SaysRowsServed,
    SaysWhetherExhaustible,
    SharedSimulator,
    Simulator,
    TellsStop,
)
from understudy.contracts.steps import Step, Steps, owned
from understudy.contracts.stops import CAUSES, Exhausted, Stop
from understudy.logs import Log

__all__ = [
    "CAUSES", "Backend", "BatchLearner", "Closable", "CompiledLearner", "CompiledRehearsal", "CompiledSimulator",
    "CountsFits", "CountsStates", "Encoder", "EncoderContents", "Encodes", "EpisodeAbandoner", "EpochLearner",
    "Exhausted", "HasActionCount", "HasCodes", "HasEnv", "HasEstimate", "HasIndex", "HasKind", "HasLearnedState",
    "HasLog", "HasObservationSpace", "HasObservations", "HasOpening", "HasPlannedSteps", "HasSettings", "HasSharedRun",
    "HasState", "HasStateCount", "HasStatesFingerprint", "HasValue", "HasValues", "Learner", "Log", "LoopOwner",
    "ObservationCodes", "ObservationSpec", "Probe", "Rehearsal", "RehearsalEnv", "RemembersLog", "Savable",
    "SaysEmissionsServed", "SaysFitted", "SaysRowsServed", "SaysWhetherExhaustible", "SharedRun", "SharedSimulator",
    "Simulator", "StackedLearner", "Step", "Steps", "Stop", "TellsStop", "owned",
]  # fmt: skip
