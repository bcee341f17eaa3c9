"""One call that checks a simulator."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from understudy.contracts import (
    CAUSES,
    EpisodeCut,
    Exhausted,
    HasState,
    Rehearsal,
    Simulator,
    Step,
    Stop,
    owned,
)
from understudy.contracts.ladders import ladder_of
from understudy.contracts.offering import offers
from understudy.contracts.simulating import (
    SharedSimulator,
    is_compiled,
    is_exhaustible,
    is_real,
    log_of,
    n_actions_of,
    passes_over,
)
from understudy.learners import Uniform
from understudy.runs import simulate
from understudy.testing.rules import Checked, Rules, check_described, check_travels, same_run
from understudy.testing.served_steps import (
    Served,
    check_actions_vary,
    check_attributes,
    check_fields,
    check_order,
    check_rows,
    check_states,
    copied,
    ends_episode,
    overwrite,
    same_steps,
)

OWN = "observations are the learner's own, to keep and to write on"
REPEATABLE = "the same seed and the same policies give the same steps"
BEGINS = "begin() returns the first observation of an episode"
ANSWERS = "step(policy) returns a Step, or raises Exhausted when the log has no answer"
APART = "rehearsals do not disturb each other"
ENDS = "Exhausted takes a Stop"
ADVICE = (
    "return understudy.contracts.Step, and raise understudy.contracts.Exhausted(Stop(...)); None is for simulators "
    "that say that they pass over episodes (understudy.contracts.PassesOverEpisodes)"
)


def check_simulator(
    simulator: Simulator,
    *,
    n_actions: int | None = None,
    max_steps: int = 500,
    follows_policy: bool = True,
    each_row_once: bool = True,
) -> Checked:
    """Check that a simulator keeps its promises. Return the rules it keeps; raise `ContractError` at the first broken.

    `n_actions` is needed where the simulator does not say. Say `follows_policy=False` for a simulator that is not meant
    to act by the policy it is given (as `states_only`), and `each_row_once=False` for one that serves rows again.
    """
    rules = Rules(type(simulator).__name__)
    rules.check(
        "a simulator has start(seed)",
        not isinstance(simulator, type) and offers(simulator, Simulator),
        f"this is {simulator!r}",
        "write the method, and give an object, not the class",
    )
    found = n_actions_of(simulator) if n_actions is None else n_actions
    rules.check(
        "the number of actions is known",
        found is not None,
        "the simulator has no n_actions",
        "give it the attribute n_actions, or check_simulator the argument",
    )
    check_attributes(rules, simulator, found)
    assert found is not None
    checks = SimulatorChecks(rules, simulator, int(found), max_steps)
    served = checks.serve()
    check_fields(rules, served.steps, checks.n_actions)
    check_order(rules, served)
    check_rows(rules, simulator, served.steps, each_row_once)
    check_states(rules, simulator, served.states)
    checks.check_repeats(served.steps)
    if follows_policy:
        checks.check_policy()
        check_actions_vary(rules, simulator, served.steps, checks.n_actions)
    checks.check_end()
    checks.check_runs()
    check_described(rules, "the simulator", simulator)
    check_travels(rules, "the simulator", simulator)
    return rules.checked()


class SimulatorChecks:
    """The rules of one simulator."""

    def __init__(self, rules: Rules, simulator: Any, n_actions: int, max_steps: int) -> None:
        self.rules, self.simulator, self.n_actions, self.max_steps = rules, simulator, n_actions, max_steps
        self.uniform = np.full(n_actions, 1.0 / n_actions)

    def begin(self, seed: int = 0) -> tuple[Rehearsal, Any]:
        """Return a rehearsal that has begun an episode, and its first observation."""
        rule = "start(seed) returns a rehearsal with begin() and step(policy)"
        with self.rules.trying(rule, "write both; understudy.contracts.Rehearsal says what each promises"):
            rehearsal = self.simulator.start(seed)
        self.rules.check(
            rule, offers(rehearsal, Rehearsal), f"it returned {rehearsal!r}", "return an object that has both methods"
        )
        with self.rules.trying(BEGINS):
            return rehearsal, rehearsal.begin()

    def steps(self, policy: np.ndarray | None = None, write: bool = False) -> list[Step]:
        """Return the steps of a uniform learner, or of one that always has this policy."""
        return self.serve(policy, write).steps

    def serve(self, policy: np.ndarray | None = None, write: bool = False) -> Served:
        """Return what a uniform learner is served, or one that always has this policy.

        With `write`, every observation that was handed out is overwritten.
        """
        rehearsal, observation = self.begin()
        served = Served([], {}, [])
        over, begun = True, False
        while len(served.steps) < self.max_steps:
            try:
                if over:
                    if begun:
                        observation = self.answer(BEGINS, "", rehearsal.begin)
                    begun = True
                    served.openings[len(served.steps)] = owned(observation)
                    overwrite(observation, write)
                if offers(rehearsal, HasState):
                    served.states.append(rehearsal.state)
                step = self.step(rehearsal, self.uniform if policy is None else policy)
            except Exhausted as exhausted:
                self.check_stop(exhausted)
                break
            if isinstance(step, EpisodeCut):
                served.states[len(served.steps) :] = []
                over = True
                continue
            if step is None:
                served.take_back(max(served.openings))
                over = True
                continue
            served.steps.append(copied(step))
            overwrite(step.observation, write)
            overwrite(step.next_observation, write)
            over = step.terminated or step.truncated
        return served

    def step(
        self, rehearsal: Rehearsal, policy: np.ndarray, rule: str = ANSWERS, advice: str = ADVICE
    ) -> Step | EpisodeCut | None:
        """Return the next step; None or an `EpisodeCut` where the simulator may pass over or cut episodes, and did.

        Raise `ContractError` where it is neither, `Exhausted` where there is none.
        """
        step = self.answer(rule, advice, rehearsal.step, policy.copy())
        found = f"it returned a {type(step).__name__}"
        allowed = (step is None and passes_over(self.simulator)) or (
            isinstance(step, EpisodeCut) and "cut" in ladder_of(self.simulator)
        )
        self.rules.check(rule, isinstance(step, Step) or allowed, found, advice)
        return step

    def answer(self, rule: str, advice: str, method: Callable, *arguments: Any) -> Any:
        """Return what a rehearsal's method returns. An error breaks the rule, unless it is `Exhausted`."""
        with self.rules.trying(rule, advice):
            try:
                return method(*arguments)
            except Exhausted as exhausted:
                end = exhausted
        raise end

    def check_stop(self, exhausted: Exhausted) -> Stop:
        """Return the stop of an `Exhausted`, and check it."""
        stop = exhausted.stop
        advice = "raise Exhausted(Stop('no row'))"
        self.rules.check(ENDS, isinstance(stop, Stop), f"it was given {stop!r}", advice)
        return stop

    def check_repeats(self, steps: list[Step]) -> None:
        """Check that rehearsals repeat, and do not disturb each other."""
        advice = "keep all that changes in the rehearsal, and draw from a generator that start(seed) seeds"
        self.rules.check(
            REPEATABLE, same_steps(steps, self.steps()), "a second rehearsal with the same seed had other steps", advice
        )
        self.rules.check(
            APART,
            same_steps(steps[:50], self.steps_in_turns(min(50, len(steps)), advice)),
            "steps changed where another rehearsal went on at the same time",
            advice,
        )
        self.rules.check(
            OWN,
            same_steps(steps, self.steps(write=True)) and same_steps(steps, self.steps()),
            "steps changed after observations that were handed out had been overwritten",
            "hand out copies of arrays",
        )

    def steps_in_turns(self, n: int, advice: str) -> list[Step]:
        """Return the first n steps of a rehearsal, or fewer where it ends, while another one goes on in between."""
        other, _ = self.begin(1)
        rehearsal, _ = self.begin()
        steps: list[Step] = []
        over, n_before = False, 0
        while len(steps) < n:
            try:
                if over:
                    self.answer(APART, advice, rehearsal.begin)
                    n_before = len(steps)
                other = self.gone_on(other)
                step = self.step(rehearsal, self.uniform, APART, advice)
            except Exhausted:
                break
            if step is None:
                del steps[n_before:]
            elif isinstance(step, Step):
                steps.append(copied(step))
            over = ends_episode(step)
        return steps

    def gone_on(self, rehearsal: Rehearsal) -> Rehearsal:
        """Return the rehearsal after one more step, or a new one of seed 1 where it has ended."""
        try:
            self.step_on(rehearsal)
        except Exhausted:
            rehearsal, _ = self.begin(1)
        return rehearsal

    def step_on(self, rehearsal: Rehearsal) -> None:
        """Let a uniform learner take the next step; where it ends an episode, begin another one."""
        step = self.step(rehearsal, self.uniform)
        if ends_episode(step):
            self.answer(BEGINS, "", rehearsal.begin)

    def check_policy(self) -> None:
        """Check that steps have the actions that the policy asks for."""
        for action in range(self.n_actions):
            surely = np.zeros(self.n_actions)
            surely[action] = 1.0
            taken = {int(step.action) for step in self.steps(policy=surely)}
            self.rules.check(
                "a policy that is sure of an action gets that action",
                taken <= {action},
                f"a policy that is sure of action {action} got {sorted(taken)}",
                "serve rows with the drawn action, or accept rows by rejection sampling; say follows_policy=False "
                "where the policy is not meant to matter",
            )
        within = self.uniform * (1 + 5e-6)
        with self.rules.trying("a policy may sum to 1 within 1e-5", "normalize it, or compare with a tolerance"):
            rehearsal, _ = self.begin()
            with suppress(Exhausted):
                rehearsal.step(within)

    def check_end(self) -> None:
        """Check how a rehearsal ends."""
        if is_real(self.simulator) or not is_exhaustible(self.simulator):
            return
        log = log_of(self.simulator)
        most = 20 * len(log) if log is not None else 100_000
        rehearsal, _ = self.begin()
        stop = None
        for _ in range(most):
            try:
                self.step_on(rehearsal)
            except Exhausted as exhausted:
                stop = self.check_stop(exhausted)
                break
        self.rules.check(
            "a rehearsal that is exhaustible ends with Exhausted",
            stop is not None,
            f"it went on for {most:,} steps",
            "raise Exhausted when rows run out, or say exhaustible = False",
        )
        assert stop is not None
        self.rules.check(
            "a stop has one of the causes of understudy.contracts.CAUSES",
            stop.cause in CAUSES,
            f"it has {stop.cause!r}",
            f"choose from {', '.join(CAUSES)}",
        )

    def check_runs(self) -> None:
        """Check whole runs: plain, compiled, and shared by several envs."""
        learner = Uniform(self.n_actions)
        with self.rules.trying("a learner can be run in it"):
            plain = simulate(self.simulator, learner, 0, self.max_steps, compiled=False)
        if is_compiled(self.simulator):
            rule = "compiled runs are the plain ones"
            with self.rules.trying(rule, "let its kernels run wherever its Python code does"):
                compiled = simulate(self.simulator, learner, 0, self.max_steps)
            self.rules.check(
                rule,
                same_run(plain, compiled),
                "the compiled run was served other rows, or stopped in another way",
                "let kernels and Python code draw the same numbers in the same order",
            )
        if offers(self.simulator, SharedSimulator):
            self.check_shared()

    def check_shared(self) -> None:
        """Check rehearsals that share a log."""
        rule = "start_shared(seed, n) returns n rehearsals"
        with self.rules.trying(rule):
            shared = self.simulator.start_shared(0, 3)
        self.rules.check(
            rule,
            isinstance(shared, Sequence) and len(shared) == 3 and all(offers(each, Rehearsal) for each in shared),
            f"it returned {shared!r}",
            "return a list of n objects with begin() and step(policy)",
        )
        rows: list[int] = []
        try:
            for each in shared:
                self.answer(BEGINS, "", each.begin)
            for _ in range(50):
                for each in shared:
                    step = self.step(each, self.uniform)
                    if isinstance(step, Step):
                        rows.append(int(step.row))
                    if ends_episode(step):
                        self.answer(BEGINS, "", each.begin)
        except Exhausted as exhausted:
            self.check_stop(exhausted)
        served = [row for row in rows if row >= 0] if is_exhaustible(self.simulator) else []
        self.rules.check(
            "rehearsals that share a log serve no row twice between them",
            len(set(served)) == len(served),
            f"{len(served) - len(set(served))} rows were served twice",
            "let them take rows from the same queues",
        )
