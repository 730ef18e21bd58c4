"""Every exception palpate raises: one tree, rooted at PalpateError.

A message says what is wrong, where, what was found and what would be valid; `hint` says what to try.
The command line prints both and exits with code 2; nothing here ever shows a traceback to a user.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterable
from typing import Any

_LONGEST_NAME, _MOST_NAMES = 80, 60


class PalpateError(Exception):
    """Base of every error palpate raises.

    Attributes:
        hint: what to try next, or None.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(harmless(message))
        self.hint = None if hint is None else harmless(hint)

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message}\n  hint: {self.hint}" if self.hint else message

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors travel between processes with their evidence, whatever their constructors take."""
        return _error_again, (type(self), self.args, self.__dict__)


class PalpateNote(UserWarning):
    """A note on a run that `simulate` gives as a Python warning: its warnings, settings that nothing reads, a surface
    that was never touched. Sound runs have none. `warnings.simplefilter("ignore", PalpateNote)` silences them.
    """


def _error_again(kind: type[PalpateError], args: tuple[Any, ...], evidence: dict[str, Any]) -> PalpateError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(evidence)
    return error


def harmless(text: str) -> str:
    """`text` with every control and bidirectional character but the line's end as an escape.

    Names come from strangers' files: they must not move the cursor or recolour a terminal.
    """
    if text.replace("\n", "").isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def printable(text: str) -> str:
    """`text` on one line, every control, bidirectional or unencodable character written as an escape."""
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def shortened(text: str, longest: int = _LONGEST_NAME) -> str:
    """A name or value for a message: cut where it is very long, with its true length."""
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"


def value_text(value: object) -> str:
    """A value for a message, cut where it is very long."""
    try:
        return shortened(repr(value))
    except Exception:  # a number of more digits than Python prints, a foreign object
        return f"a {type(value).__name__} that cannot be printed"


class InvalidInput(PalpateError, ValueError):
    """A value that breaks a rule: out of range, contradictory, or not physical."""


class BadShape(InvalidInput):
    """An array of the wrong shape."""


class NotFinite(InvalidInput):
    """A NaN or infinity where a number is needed."""


class BadRotation(InvalidInput):
    """A matrix that is no rotation, or a quaternion or axis without a direction."""


class UnknownName(PalpateError, LookupError):
    """A name that does not exist; the message lists the nearest ones that do."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, hint: str | None = None) -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        near = nearest(name, self.known)
        if hint is None and near:
            hint = f"did you mean {' or '.join(map(repr, near))}?"
        names = [shortened(known) for known in self.known[:_MOST_NAMES]]
        more = f" … and {len(self.known) - _MOST_NAMES} more" if len(self.known) > _MOST_NAMES else ""
        listed = ", ".join(names) + more if names else "none"
        super().__init__(f"unknown {kind} {shortened(name)!r}; known: {listed}", hint=hint)


def check_names(kind: str, given: Iterable[str], known: Collection[str]) -> None:
    """Refuse names that do not exist.

    Raises:
        UnknownName: the first of `given` that is not among the known ones.
    """
    for name in given:
        if name not in known:
            raise UnknownName(kind, str(name), known)


class ModelError(InvalidInput):
    """A robot model that cannot be trusted; `findings` lists every problem of the file."""

    def __init__(self, message: str, findings: Iterable[object] = (), *, hint: str | None = None) -> None:
        self.findings = list(findings)
        super().__init__(message, hint=hint)


class MassesMissing(PalpateError):
    """Something that needs masses, asked of a robot whose file gives none: only its kinematics are known.

    Attributes:
        joints: the joints that move no mass.
    """

    def __init__(self, what: str, robot: str, joints: Iterable[str]) -> None:
        self.joints = tuple(joints)
        named = ", ".join(self.joints[:8]) + (" …" if len(self.joints) > 8 else "")
        super().__init__(
            f"{what} of {robot} needs masses, and its model gives none for what moves with: {named}",
            hint="--estimate-inertia KG (in Python load_robot(…, estimate_inertia=KG)) estimates them from shapes and"
            " total mass; poses, Jacobians and inverse kinematics need none",
        )


class ScenarioError(InvalidInput):
    """A scenario that cannot be run; `problems` lists everything wrong with it."""

    def __init__(self, message: str, problems: Iterable[object] = (), *, hint: str | None = None) -> None:
        self.problems = list(problems)
        super().__init__(message, hint=hint)


class NoSolution(PalpateError):
    """A solver found no answer. Subclasses carry the evidence."""


class UnreadableExpression(InvalidInput):
    """A formula that cannot be read; the message shows the line with a caret under the fault.

    Attributes:
        line, column: where, counted from 1.
    """

    def __init__(self, message: str, text: str, at: int, *, hint: str | None = None) -> None:
        before = text[:at]
        self.line, self.column = before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1
        shown = (text.splitlines() or [""])[self.line - 1] if self.line <= len(text.splitlines() or [""]) else ""
        start = max(0, self.column - 60)
        caret = " " * (self.column - 1 - start) + "^"
        where = f"{shown[start : start + 100]}\n    {caret}"
        super().__init__(f"line {self.line}, column {self.column}: {message}\n    {where}", hint=hint)


class UnknownSymbol(UnreadableExpression, LookupError):
    """A symbol in a formula that stands for nothing known; the hint names the nearest that do.

    Attributes:
        symbol: its name; "" where it is not known.
    """

    symbol: str = ""


class UnluckyPoint(NoSolution):
    """A random point that does not serve: a division by zero, or a root that does not exist there."""


class DoesNotFit(NoSolution):
    """An expression that an arithmetic cannot hold, such as exp modulo a prime."""


class TraceError(InvalidInput):
    """A trace that is foreign, damaged, or asked for what it does not hold."""


class DamagedTable(InvalidInput):
    """A Parquet file that is none, damaged, or written in a way that is not read here."""


class MissingExtra(PalpateError, ImportError):
    """Something that needs a package which is not installed; the hint has the line that installs it."""


class MissingTool(PalpateError, ImportError):
    """Something that needs a tool of palpate which this installation does not have."""


class NotApplicable(PalpateError):
    """A metric that says nothing about a trace; the message is the reason. A bound on it is neither kept nor broken."""


class NeverHappened(NotApplicable):
    """A metric of something that the run could have shown and did not, such as a first contact: its bound is broken."""


class NotKept(PalpateError):
    """A channel was read that the run has, and of which nothing was kept: a sweep keeps what was read of other runs."""


class FileError(PalpateError):
    """A file that cannot be read or written: missing folder, no permission, full disk."""


class InUse(FileError):
    """A folder that another run is writing at this moment."""


class NotAClient(InvalidInput):
    """A connection to a served robot that does not speak its protocol, or another version of it."""


class TooLarge(InvalidInput):
    """A file, model or run beyond what can be handled here; refused before it is tried."""


class UnsupportedVersion(PalpateError, ImportError):
    """A package whose inner parts palpate touches, in a version it was not built for."""


class UnsupportedProcessor(PalpateError, ImportError):
    """A processor without an instruction set that a library needs."""


class StudyError(PalpateError):
    """A sweep, map or search that cannot go on: no workers, a cluster that is gone, a package that is missing."""


class Singular(NoSolution):
    """A linear map that cannot be inverted where it was asked; `smallest_singular_value` is the evidence."""

    def __init__(self, message: str, smallest_singular_value: float, least: float) -> None:
        self.smallest_singular_value = smallest_singular_value
        super().__init__(f"{message}; smallest singular value {smallest_singular_value:.3g}, need {least:g}")


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """The known names closest in spelling to `name`, best first."""
    if len(name) > _LONGEST_NAME:  # no misspelling, and slow to compare
        return []
    return difflib.get_close_matches(name, [k for k in known if len(k) <= _LONGEST_NAME], n=count, cutoff=0.5)


class SingularTask(NoSolution):
    """A task that the posture cannot move along in every direction asked for."""

    def __init__(self, frame: str, smallest_singular_value: float) -> None:
        self.frame, self.smallest_singular_value = frame, smallest_singular_value
        super().__init__(
            f"the task at frame {frame!r} is singular: smallest singular value {smallest_singular_value:.3g}",
            hint="name fewer directions, move the arm, or give a damping > 0",
        )


class Unreachable(NoSolution):
    """Inverse kinematics found no posture; carries the nearest one.

    Attributes:
        nearest: the best coordinates found.
        position_error: m.
        angle_error: rad.
    """

    def __init__(self, message: str, nearest: object, position_error: float, angle_error: float) -> None:
        self.nearest, self.position_error, self.angle_error = nearest, position_error, angle_error
        super().__init__(message, hint="the target may be out of reach or beyond the joint limits; see .nearest")


class Painleve(NoSolution):
    """Sliding with dry friction has no answer, or several, at a state (Painlevé's paradox).

    Attributes:
        contact: the contact's name.
        kind: "inconsistent" (no answer) or "indeterminate" (several).
        coefficient: n·M⁻¹(n − μ d), 1/kg, how the normal force moves the contact apart; positive where all is well.
        time, q, v: the state.
    """

    def __init__(self, contact: str, kind: str, coefficient: float, time: float, q: object, v: object) -> None:
        self.contact, self.kind, self.coefficient = contact, kind, coefficient
        self.time, self.q, self.v = time, q, v
        super().__init__(
            f"sliding at contact {contact!r} is {kind} (Painlevé) at t = {time:.9g} s: n·M⁻¹(n − μ d) ="
            f" {coefficient:.6g} 1/kg, q = {q}, v = {v}",
            hint='less friction, another posture, or painleve = "impact"',
        )


class EnergyCreated(NoSolution):
    """An impact law that would add kinetic energy; `before` and `after` (J) are the evidence."""

    def __init__(self, law: str, before: float, after: float) -> None:
        self.law, self.before, self.after = law, before, after
        super().__init__(
            f"the impact law {law!r} would raise the kinetic energy from {before:.9g} J to {after:.9g} J",
            hint="use Poisson's or Stronge's law, which cannot",
        )


class InconsistentContact(NoSolution):
    """An answer of exact contact that breaks a law it is to obey; it is refused, since it would be wrong physics.

    Attributes:
        contact: the contact's (or joint's) name.
        condition: the law that is broken, such as "no penetration" or "Coulomb's cone".
        residual: by how much, in the units of the condition.
        allowed: how much rounding may leave.
        time: when, s.
    """

    def __init__(self, contact: str, condition: str, residual: float, allowed: float, time: float) -> None:
        self.contact, self.condition = contact, condition
        self.residual, self.allowed, self.time = residual, allowed, time
        super().__init__(
            f"the solution at contact {contact!r} breaks the condition {condition!r} at t = {time:.9g} s: residual"
            f" {residual:.3g}, allowed {allowed:.3g}",
            hint="this is a fault of palpate's contact solver: please report the state; another posture may pass",
        )
