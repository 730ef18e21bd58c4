"""Texts of an exported folder: header, replay, build files, README."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

import numpy as np

from palpate.exporting.code.image import Part
from palpate.exporting.code.records import MEANINGS, Code
from palpate.exporting.draft import LATEST, Draft
from palpate.exporting.interface import Item


def template(name: str, values: dict[str, object]) -> str:
    """A file of the package with @NAMES@ filled in."""
    text = (files("palpate.exporting") / "templates" / name).read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", str(value))
    return text


def safe_command(kind: str) -> str:
    """What stands in the answer where there is an error."""
    if kind == "position":
        return "the last set point, NaN before the first"
    return "velocity 0" if kind == "velocity" else "torque 0"


def header(made: Draft) -> str:
    """The C header."""
    upper = made.name.upper()
    lines = [
        f"/* {made.scenario.name}: law {made.bound.name} for {made.run.robot.name}, written by palpate.",
        " *",
        " * SI units. Twists are [v; w], wrenches [f; n], world-aligned axes at the tool's origin; a wrench is what",
        " * the environment does to the robot. Quaternions are w x y z. Matrices are row by row.",
        " * Functions return a code: 0, or what was wrong. With any other code the answer is the safe command:",
        f" * {safe_command(made.bound.command)}.",
        " * No function allocates, locks or calls a library. One state, one thread.",
        " */",
        f"#ifndef {upper}_H",
        f"#define {upper}_H",
        "#include <stddef.h>",
        "#include <stdint.h>",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"#define {upper}_VERSION {made.plan.version}u /* of this layout: init and every input carry it */",
        f"#define {upper}_JOINTS {made.run.robot.nv}",
        f"#define {upper}_PERIOD {made.run.clock.control_period!r} /* s */",
        f"#define {upper}_LATEST {LATEST:g} /* periods after which a tick is refused */",
        "",
        "enum {",
        *(f"    {upper}_CODE_{code.name} = {code.value}, /* {MEANINGS[code]} */" for code in Code),
        "};",
        "",
        *_structs(made),
        *_functions(made),
        "#ifdef __cplusplus",
        "}",
        "#endif",
        f"#endif /* {upper}_H */",
    ]
    return "\n".join(lines) + "\n"


def _structs(made: Draft) -> list[str]:
    name = made.name
    words = made.plan.state_bytes // 8
    return [
        "/* Everything the law keeps; yours to place, init fills it. */",
        f"typedef struct {{ uint64_t words[{words}]; }} {name}_state;",
        "",
        "/* One tick. */",
        "typedef struct {",
        f"    uint32_t bytes; /* sizeof({name}_input) */",
        f"    uint32_t version; /* {name.upper()}_VERSION */",
        "    double t; /* s, later than the last tick's */",
        *map(_declared, made.inputs),
        f"}} {name}_input;",
        "",
        "/* Its answer. */",
        "typedef struct {",
        "    int64_t code; /* as step returns it */",
        "    int64_t guards; /* bits of the guards at work: 4 joint range, 8 tool speed, 16 contact force,",
        "                       32 stale reading, 64 not finite, 128 singular posture, 256 joint speed */",
        "    int64_t missed; /* ticks left out since init or reset */",
        *map(_declared, made.outputs),
        f"}} {name}_output;",
        "",
        "/* The law's gains; set_gains takes changes of those with bounds. */",
        *_record(made.gains, f"{name}_gains", made),
        "/* What the law remembers. */",
        *_record(made.memory, f"{name}_memory", made),
    ]


def _declared(each: Item) -> str:
    return f"    {each.kind} {each.name}{_shape(each.shape)}; /* {each.about} */"


def _shape(shape: Sequence[int]) -> str:
    return "".join(f"[{n}]" for n in shape)


def _record(parts: list[Part], name: str, made: Draft) -> list[str]:
    if not parts:
        return [f"typedef struct {{ int64_t nothing; }} {name};", ""]
    lines = ["typedef struct {"]
    for part in parts:
        kind, bounds = "double" if part.real else "int64_t", made.bounds.get(part.path)
        note = "" if bounds is None or parts is not made.gains else f" /* {_interval(*bounds)}, may be changed */"
        lines.append(f"    {kind} {'_'.join(part.path)}{_shape(part.shape)};{note}")
    return [*lines, f"}} {name};", ""]


def _interval(low: float, high: float) -> str:
    largest = np.finfo(float).max
    return f"{'any' if low == -largest else f'from {low:.9g}'}{'' if high == largest else f' to {high:.9g}'}"


def _functions(made: Draft) -> list[str]:
    n = made.name
    return [
        "/* Make a state; before anything else. */",
        f"int32_t {n}_init({n}_state *state, size_t bytes, uint32_t version);",
        "/* One control tick. */",
        f"int32_t {n}_step({n}_state *state, const {n}_input *input, {n}_output *output);",
        "/* Memory, guards and clock as at the start; gains stay. */",
        f"int32_t {n}_reset({n}_state *state);",
        "/* From the next tick on, go over from the measured torques to the law's within some seconds; 0 ends it. */",
        f"int32_t {n}_blend({n}_state *state, double seconds);",
        f"int32_t {n}_get_gains(const {n}_state *state, {n}_gains *gains, size_t bytes);",
        f"int32_t {n}_set_gains({n}_state *state, const {n}_gains *gains, size_t bytes);",
        f"int32_t {n}_get_memory(const {n}_state *state, {n}_memory *memory, size_t bytes);",
        "",
    ]
