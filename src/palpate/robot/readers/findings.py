"""Problems of a model file: one finding for each, with file, line, element and rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from palpate.errors import ModelError, nearest, printable

if TYPE_CHECKING:
    from palpate.robot.frames import ToolChoice

Level = Literal["error", "warning"]
TOOL_FRAME = "tool frame"
CONTACT = "contact geometry"
UNDRAWN = "drawn without this mesh"  # how the rule of a finding ends that matters to the picture only
_LONGEST_QUOTE = 160


@dataclass(frozen=True)
class Finding:
    """One problem of a model file.

    Attributes:
        level: "error" where the dynamics would be wrong or the file cannot be used; "warning" where
            a value is implausible, ignored, or matters to the picture only.
        file: the file it stands in, as the caller named it.
        line: line of the culprit, from 1; 0 if the problem belongs to the whole file.
        element: the culprit by name, such as "link 'arm' > inertial > mass"; empty for the whole file.
        found: what the file says.
        rule: the rule it breaks.
        hint: what to try; may be empty.
    """

    level: Level
    file: str
    line: int
    element: str
    found: str
    rule: str
    hint: str = ""

    def __str__(self) -> str:
        return self._text(f"{self.level}: ")

    @property
    def sentence(self) -> str:
        """The same without its level, for readers who know it."""
        return self._text("")

    def _text(self, level: str) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        what = f"{self.element}: " if self.element else ""
        hint = f" ({self.hint})" if self.hint else ""
        return printable(f"{where}: {level}{what}{self.found}; {self.rule}{hint}")

    def as_dict(self) -> dict[str, str | int]:
        """The finding as plain data, for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Mend:
    """One value that was replaced: where, which attribute, its old and its new text."""

    element: str
    line: int
    attribute: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.element}: {self.attribute} {self.old} → {self.new}"


def quoted(text: str) -> str:
    """A value of the file in quotes, shortened if it is very long."""
    shortened = text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}… ({len(text)} characters)"
    return printable(f"'{shortened}'")


def did_you_mean(word: str, known: Iterable[str], count: int = 3) -> str:
    """A hint with the known names closest to a word; empty where none is close."""
    near = nearest(word, known, count)
    return f"did you mean {' or '.join(map(quoted, near))}?" if near else ""


def errors_of(findings: Iterable[Finding]) -> list[Finding]:
    """Those findings that make a model unusable."""
    return [finding for finding in findings if finding.level == "error"]


def without_meshes(findings: Iterable[Finding]) -> tuple[list[Finding], list[str]]:
    """The findings without those of meshes that could not be had, and one sentence for all of these, if any."""
    findings = list(findings)
    meshes = [finding for finding in findings if finding.rule.endswith(UNDRAWN)]
    if not meshes:
        return findings, []
    others = [finding for finding in findings if finding not in meshes]
    if len(meshes) == 1:
        return others, [meshes[0].sentence]
    names = list(dict.fromkeys(finding.found.partition("=")[2] for finding in meshes))
    listed = ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
    count = "1 mesh is" if len(names) == 1 else f"{len(names)} meshes are"
    hints = " and ".join(dict.fromkeys(finding.hint for finding in meshes if finding.hint))
    advice = f"{hints}, or see palpate check" if hints else "see palpate check"
    sentence = f"{meshes[0].file}: {count} missing or cannot be read ({listed}); they are not drawn, {advice}"
    return others, [printable(sentence)]


def refuse(file: str, findings: Iterable[Finding]) -> ModelError:
    """The exception that tells every error of `file` at once; `findings` of it hold the warnings too."""
    findings = list(findings)
    errors = errors_of(findings)
    count = f"{len(errors)} error{'s' if len(errors) != 1 else ''}"
    lines = "".join(f"\n  {error}" for error in errors)
    return ModelError(f"{printable(file)} has {count}:{lines}", findings)


def guessed_tool_warning(robot: str, choice: ToolChoice | None) -> list[Finding]:
    """The warning that a tool frame is a guess, if it is one."""
    if choice is None or not choice.guessed:
        return []
    rule = "a guess: nothing in the model says which frame is the tool"
    return [Finding("warning", robot, 0, TOOL_FRAME, str(choice), rule, "name it: tool_frame=")]


def gravcomp_warning(robot: str, bodies: list[str]) -> list[Finding]:
    """A warning if gravity compensation (gravcomp) of bodies was removed from the model."""
    if not bodies:
        return []
    listed = ", ".join(bodies[:4]) + (" …" if len(bodies) > 4 else "")
    problem = f"gravcomp on {len(bodies)} {'body' if len(bodies) == 1 else 'bodies'} ({listed})"
    rule = "taken off: the law compensates gravity, and would do so twice"
    return [Finding("warning", robot, 0, "", problem, rule)]


def collision_warning(file: str, count: int, what: str) -> list[Finding]:
    """One warning that counts a file's links or geoms that could collide; a world takes them by name only."""
    if not count:
        return []
    rule = "not used: of a robot only what the world names touches"
    hint = "world.contact_links, world.contact_points or world.contact_shapes"
    return [Finding("warning", file, 0, CONTACT, f"{what}: {count}", rule, hint)]
