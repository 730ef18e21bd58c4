"""Programs as C99 without dependencies: a source, a header, and a main that checks the source against known values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.equations.algebra.graph import Node
from palpate.equations.code.program import Program, Writer
from palpate.escape.c import c_comment, c_string
from palpate.forking import cached_property

TOLERANCE = 1e-10


@dataclass(frozen=True)
class Function:
    """One C function: its name after the prefix, its line of documentation, its program."""

    name: str
    meaning: str
    program: Program


@dataclass(frozen=True)
class TestVector:
    """A state and what a function must give there."""

    function: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


@dataclass(frozen=True)
class CLibrary:
    """A set of functions over one graph.

    Attributes:
        prefix: of every name; a C identifier.
        about: lines for the head of each file.
        values: of the parameters kept as symbols; empty if numbers were put in.
    """

    prefix: str
    about: tuple[str, ...]
    functions: tuple[Function, ...]
    values: Mapping[str, float]

    @cached_property
    def parameters(self) -> list[str]:
        """Parameters used by any function, in order."""
        return list(dict.fromkeys(name for function in self.functions for name in function.program.parameters))

    @cached_property
    def constants(self) -> list[Node]:
        """Nodes that are computed once from the parameters."""
        nodes = {n.number: n for function in self.functions for n in function.program.constants()}
        return [nodes[number] for number in sorted(nodes)]


def header(library: CLibrary) -> str:
    """The header file's text."""
    guard = f"{library.prefix.upper()}_H"
    lines = [*_comment(library.about), f"#ifndef {guard}", f"#define {guard}", "", *_CPLUSPLUS[0]]
    if library.parameters:
        lines += [
            f"#define {library.prefix.upper()}_PARAMETERS {len(library.parameters)}",
            f"#define {library.prefix.upper()}_CONSTANTS {len(library.constants)}",
            "",
            f"/* {c_comment(', '.join(library.parameters))} */",
            f"extern const double {library.prefix}_parameters[{len(library.parameters)}];",
            "",
            "/* Everything that depends on the parameters alone; call it once for each set of parameters. */",
            f"{_constants_signature(library)};",
            "",
        ]
    for function in library.functions:
        lines += [f"/* {function.meaning}; {function.program.counts()}. */", f"{_signature(library, function)};", ""]
    return "\n".join([*lines, *_CPLUSPLUS[1], "#endif", ""])


_CPLUSPLUS = (["#ifdef __cplusplus", 'extern "C" {', "#endif", ""], ["#ifdef __cplusplus", "}", "#endif", ""])


def source(library: CLibrary) -> str:
    """The source file's text."""
    lines = [*_comment(library.about), "#include <math.h>", f'#include "{library.prefix}.h"', ""]
    if library.parameters:
        lines += _parameter_lines(library)
    for function in library.functions:
        lines += _function_lines(library, function)
    return "\n".join(lines)


def _comment(about: Sequence[str]) -> list[str]:
    return ["/*", *(f" * {c_comment(line)}" if line else " *" for line in about), " */"]


def _constants_signature(library: CLibrary) -> str:
    p, k = len(library.parameters), len(library.constants)
    return f"void {library.prefix}_constants(const double p[{p}], double k[{k}])"


def _signature(library: CLibrary, function: Function) -> str:
    program = function.program
    arguments = [f"const double {array}[{len(entries)}]" for array, entries in program.inputs.items()]
    if library.parameters:
        arguments.append(f"const double k[{len(library.constants)}]")
    arguments += [f"double {o.name}[{int(np.prod(o.shape, dtype=int))}]" for o in program.outputs]
    return f"void {library.prefix}_{function.name}({', '.join(arguments)})"


def _parameter_lines(library: CLibrary) -> list[str]:
    names = library.parameters
    values = [f"    {float(library.values[name])!r}, /* {c_comment(name)} */" for name in names]
    writer = Writer({name: f"p[{i}]" for i, name in enumerate(names)}, prefix="c")
    writer.write(library.constants)
    body = [f"    const double {name} = {text};" for name, text in writer.lines]
    body += [f"    k[{i}] = {writer.text(node)};" for i, node in enumerate(library.constants)]
    head = [f"const double {library.prefix}_parameters[{len(names)}] = {{", *values, "};", ""]
    return [*head, _constants_signature(library), "{", *body, "}", ""]


def _function_lines(library: CLibrary, function: Function) -> list[str]:
    program = function.program
    names = {e: f"{array}[{i}]" for array, entries in program.inputs.items() for i, e in enumerate(entries)}
    writer = Writer(names)
    for i, node in enumerate(library.constants):
        writer.give(node, f"k[{i}]")
    writer.write(program.nodes)
    body = [f"    const double {name} = {text};" for name, text in writer.lines]
    for output in program.outputs:
        body += [f"    {output.name}[{i}] = {writer.text(node)};" for i, node in enumerate(output.nodes)]
    used = "\n".join(body)
    arrays = [*program.inputs, *(["k"] if library.parameters else [])]
    body[:0] = [f"    (void){array};" for array in arrays if not re.search(rf"\b{array}\[", used)]
    return [_signature(library, function), "{", *body, "}", ""]


def test_main(library: CLibrary, cases: Sequence[TestVector]) -> str:
    """A program that calls every function at known states and compares; exit code 0 where all agree."""
    lines = [*_comment([*library.about, "", "Checks the functions against values of the numeric robot."])]
    lines += ["#include <math.h>", "#include <stdio.h>", f'#include "{library.prefix}.h"', "", _COMPARE, ""]
    for number, case in enumerate(cases):
        arrays = [(f"x{number}_{i}", x) for i, x in enumerate(case.inputs)]
        arrays += [(f"y{number}_{i}", x) for i, x in enumerate(case.outputs)]
        lines += [f"static const double {name}[] = {{{_numbers(x)}}};" for name, x in arrays]
    lines += ["", "int main(void)", "{", "    double worst = 0.0;"]
    if library.parameters:
        lines += [f"    double k[{len(library.constants)}];"]
        lines += [f"    {library.prefix}_constants({library.prefix}_parameters, k);"]
    for number, case in enumerate(cases):
        lines += _called(library, number, case)
    about = c_string(f"{library.prefix}: {len(cases)} calls, largest error %.3g (1 + |value|)\n")
    lines += [f"    printf({about}, worst);", f"    return worst <= {TOLERANCE!r} ? 0 : 1;", "}", ""]
    return "\n".join(lines)


_COMPARE = """static double compare(const double *found, const double *wanted, int count)
{
    double worst = 0.0;
    for (int i = 0; i < count; i++) {
        double error = fabs(found[i] - wanted[i]) / (1.0 + fabs(wanted[i]));
        if (!(error <= worst)) /* a NaN counts as worse than anything */
            worst = isnan(error) ? INFINITY : error;
    }
    return worst;
}"""


def _numbers(values: Array) -> str:
    return ", ".join(repr(float(x)) for x in np.ravel(values))


def _called(library: CLibrary, number: int, case: TestVector) -> list[str]:
    sizes = [int(np.size(x)) for x in case.outputs]
    buffers = [f"found{i}" for i in range(len(sizes))]
    arguments = [f"x{number}_{i}" for i in range(len(case.inputs))] + (["k"] if library.parameters else []) + buffers
    lines = ["    {"]
    lines += [f"        double {name}[{size}];" for name, size in zip(buffers, sizes)]
    lines += [f"        {library.prefix}_{case.function}({', '.join(arguments)});"]
    for i, (name, size) in enumerate(zip(buffers, sizes)):
        lines += [f"        worst = fmax(worst, compare({name}, y{number}_{i}, {size}));"]
    return [*lines, "    }"]
