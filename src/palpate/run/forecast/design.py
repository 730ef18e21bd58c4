"""Ask the loop what a run does, how near the edge it is, and how far each setting may go."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from palpate.errors import PalpateError
from palpate.run.forecast.ends import ends_of, limits_at, range_sentence
from palpate.run.forecast.happened import Happened, happened
from palpate.run.forecast.limits import Limit, limit_of
from palpate.run.forecast.moments import Asked, LoopMoment, ask
from palpate.run.forecast.pushes import AFTER, QUIET, Course, course_of
from palpate.run.forecast.variants import Variants, settings_of
from palpate.run.run import Run
from palpate.run.simulate import Source, as_run, simulate_quietly
from palpate.trace import Trace
from palpate.world.plants.plant import rubs

SIZES = (1.0, 0.1, 0.01)  # of a push: where the loop bears no larger one, a smaller one is tried


@dataclass(frozen=True)
class Design:
    """Course of a run and the modes of its loop; see `design`.

    Attributes:
        run: that was asked about.
        trace: of it.
        happened: what it shows.
        asked: the poles at the moments that matter; None where there are none to be had, and `not_known` says why.
        course: what the run does after a push, and the push as a share of the usual one: the largest of 1, 0.1 and 0.01
            after which it is quiet.
        whole_push: what it does after the usual one.
        limits: how far settings may go.
        not_known: why nothing is known of its poles; empty otherwise.
        ends: where figures of elastic joints are known as ranges, each limit over them, in words.
        end_names: which ends these are.
    """

    run: Run
    trace: Trace
    happened: Happened
    asked: Asked | None = None
    course: tuple[Course, float] = ("edge", 1.0)
    whole_push: Course = "edge"
    limits: tuple[Limit, ...] = ()
    not_known: str = ""
    ends: tuple[str, ...] = ()
    end_names: tuple[str, ...] = ()

    @property
    def stable(self) -> bool | None:
        """Whether every mode dies out wherever the arm stands; None where that is not known."""
        return None if self.asked is None else self.asked.stable

    @property
    def verdict(self) -> str:
        """Stability in one sentence: by the poles, and by a run with a push."""
        if self.asked is None:
            return f"The poles of this loop are not known: {self.not_known}."
        worst, (course, size) = self.asked.worst, self.course
        if worst is None:
            return (
                f"The poles of this loop are not known at any moment at which it stands; a pushed run {_WORDS[course]}."
            )
        push = "a push" if size == 1.0 else f"{size:g} of the usual push"
        more = "" if size == 1.0 else f"; after the whole push it {_WORDS[self.whole_push]}"
        known = f"{_growth(worst)} ({_mode(worst)})"
        if worst.poles.stable or course != "quiet":
            return f"{known}; after {push} the run {_WORDS[course]}{more}."
        why = "dry friction holds it" if rubs(self.run.robot, self.run.world) else "it has not grown to be seen"
        return f"{known}; in the run {why}: after {push} it {_WORDS[course]}{more}."

    @property
    def warnings(self) -> list[str]:
        """Warnings: an unstable loop, one that shakes, and those of the run itself."""
        pushed = self.whole_push in ("quiet", "edge") or not rubs(
            self.run.robot, self.run.world
        )  # without friction a push has no measure
        sound = self.stable is not False and self.course[0] in ("quiet", "edge") and pushed
        return [*([] if sound or self.asked is None else [self.verdict]), *self.happened.warnings]

    @property
    def notes(self) -> list[str]:
        """Notes on the moments: quantities that were held or limited, and errors of the simulation's step."""
        notes: list[str] = []
        for moment in self.asked.moments if self.asked is not None else ():
            poles, when = moment.poles, f"{moment.name} ({moment.poles.time:.4g} s)"
            notes += [f"held: {text}" for text in poles.held]
            notes += [f"{when}: {text}" for text in poles.limits]
            if poles.of_simulation:
                notes.append(
                    f"{when}: of the simulation at {1e3 * poles.timestep:g} ms; with steps of a quarter the largest"
                    f" pole is {poles.finer:.6f}"
                )
            if poles.not_known or poles.not_differentiable:
                notes.append(f"{when}: {poles.not_known or f'no derivative here: {poles.not_differentiable}'}")
        return list(dict.fromkeys(notes))

    def __str__(self) -> str:
        """All sentences."""
        limits = [limit.sentence for limit in self.limits]
        return "\n".join([*self.happened.sentences, self.verdict, *limits, *self.ends])


_WORDS: dict[Course, str] = {
    "quiet": f"is quiet again (joint speeds fall below {QUIET:g} rad/s or m/s)",
    "shakes": "shakes on",
    "ends": "ends early",
    "edge": "neither falls nor grows",
}


def _growth(moment: LoopMoment) -> str:
    """Whether an error dies out, and how fast, in words."""
    largest, period = moment.poles.largest, moment.poles.period
    if largest == 0.0:
        return "Stable: every error is gone after a few ticks"
    rate = math.log(largest) / period
    if moment.poles.stable:
        return f"Stable: the slowest mode decays at {-rate:.3g} 1/s, largest pole {largest:.6f}"
    return f"UNSTABLE: an error grows by e^({rate:.3g} t/s), largest pole {largest:.6f}"


def _mode(moment: LoopMoment) -> str:
    """A moment with its leading mode, in words."""
    modes = moment.poles.modes
    if not modes:
        return f"{moment.name}, {moment.state}"
    joint = f"mostly of {modes[0].joint}, " if modes[0].joint else ""
    return f"{moment.name}, {moment.state}: {joint}{round(modes[0].frequency, 6):.3g} Hz"


def design(source: Source, *, limits: bool = True, progress: Callable[[str], None] = lambda _: None) -> Design:
    """Run a scenario, and ask its loop: what happens, which modes it has where, and how far settings may go.

    Args:
        source: a scenario, its name or file, or a `Run`.
        limits: whether to search how far delay, walls and gains may go, which takes most of the time.
        progress: called with what is done next, in words.

    Returns:
        The answers. Limits are upper ones of a stable loop; of an unstable one, how much less makes it stable. Poles
        are not known of exact contact, and of laws that remember something outside of their memory.
    """
    run = as_run(source)
    progress("running it")
    trace = simulate_quietly(run)
    known = Design(run, trace, happened(run, trace))
    progress("asking its modes")
    try:
        variants = Variants(run, AFTER)
        asked = ask(variants, variants.base)
    except PalpateError as error:
        return replace(known, not_known=str(error).splitlines()[0])
    unknown = {moment.poles.not_known for moment in asked.moments}
    if None not in unknown:
        return replace(known, not_known=" ".join(sorted(text for text in unknown if text)))
    whole, course = _course(variants)
    known = replace(known, asked=asked, course=course, whole_push=whole)
    if not limits or asked.stable is None:
        return known
    found = []
    for setting in settings_of(variants.base):
        progress(f"searching how far {setting.key} may go")
        found.append(limit_of(variants, setting, asked, course[1]))
    known = replace(known, limits=tuple(limit for limit in found if limit is not None))
    return _over_ranges(known, progress)


def _over_ranges(known: Design, progress: Callable[[str], None]) -> Design:
    """The answer with its limits at both ends of what is known of elastic joints."""
    ends, keys = ends_of(known.run), [limit.setting.key for limit in known.limits]
    limits = []
    for end in ends:
        progress(f"searching the same with {end.words}")
        limits.append(limits_at(end, keys, known.course[1]))
    sentences = []
    for limit in known.limits if ends else ():
        key = limit.setting.key
        there = {end.name: at.get(key) for end, at in zip(ends, limits)}
        sentences.append(range_sentence(key, limit.setting.unit, {"joints as they are": limit, **there}))
    return replace(known, ends=tuple(sentences), end_names=tuple(end.words for end in ends))


def _course(variants: Variants) -> tuple[Course, tuple[Course, float]]:
    """Course of the unchanged run after the usual push, and after the largest one after which it is quiet, if any."""
    courses = []
    for size in SIZES:
        courses.append(course_of(variants, variants.base, size))
        if courses[-1] == "quiet":
            return courses[0], ("quiet", size)
    return courses[0], (courses[0], SIZES[0])
