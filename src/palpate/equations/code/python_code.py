"""Programs as Python functions: NumPy (any number of states at once) and compiled by numba (one state)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.equations.algebra.graph import Output
from palpate.equations.code.program import Program, Writer
from palpate.errors import BadShape, InvalidInput, NotFinite, check_names
from palpate.escape.python import python_docstring, python_identifier, python_string


def module_source(program: Program, name: str, values: Mapping[str, float], about: str) -> str:
    """A module that runs by itself: the parameters' values, and a function of arrays with any leading shape."""
    reserved = {"shape", "np", "parameters", *program.inputs}
    reserved |= {output.name for output in program.outputs}
    names = {entry: python_identifier(entry + "_" * (entry in reserved)) for entry in program.parameters}
    states = ", ".join(program.inputs)
    lines = [f'"""{python_docstring(about)}"""', "", "import numpy as np", ""]
    head = [f"    {key} = np.asarray({key}, dtype=float)" for key in program.inputs]
    head += [f"    shape = np.broadcast_shapes({', '.join(f'{key}.shape[:-1]' for key in program.inputs)})"]
    if names:
        lines += ["PARAMETERS = {", *(f"    {python_string(key)}: {float(values[key])!r}," for key in names), "}", ""]
        unpacked = f"{', '.join(names.values())}{',' * (len(names) == 1)}"
        head += [f"    {unpacked} = (parameters[key] for key in PARAMETERS)"]
    body = [*head, *_body(program, names, batch=True, prefix="np.")]
    arguments = f"{states}, parameters=PARAMETERS" if names else states
    zeros = ", ".join(f"np.zeros({len(entries)})" for entries in program.inputs.values())
    lines += [
        "",
        f"def {name}({arguments}):",
        *body,
        "",
        "",
        'if __name__ == "__main__":',
        f"    print({name}({zeros}))",
    ]
    return "\n".join(lines) + "\n"


def _source(program: Program, name: str, *, batch: bool) -> str:
    """Source of a function: of arrays with any leading shape (`batch`), or of plain vectors, as numba compiles it."""
    names = {entry: f"par[{i}]" for i, entry in enumerate(program.parameters)}
    arguments = [*program.inputs, *(["par"] if program.parameters else []), *(["shape"] if batch else [])]
    return f"def {name}({', '.join(arguments)}):\n" + "\n".join(_body(program, names, batch)) + "\n"


def _body(program: Program, parameters: Mapping[str, str], batch: bool, prefix: str = "") -> list[str]:
    """The lines of a function: temporaries, outputs, and what is returned."""
    at = "..., " if batch else ""
    names = {entry: f"{array}[{at}{i}]" for array, entries in program.inputs.items() for i, entry in enumerate(entries)}
    writer = Writer({**names, **parameters}, prefix)
    writer.write(program.nodes)
    body = [f"    {name} = {text}" for name, text in writer.lines]
    for output in program.outputs:
        body += _filled(output, writer, batch, prefix)
    return [*body, f"    return {', '.join(output.name for output in program.outputs)}"]


def _filled(output: Output, writer: Writer, batch: bool, prefix: str) -> list[str]:
    size = f"shape + {output.shape!r}" if batch else repr(output.shape)
    at = "..., " if batch else ""
    if not output.shape:
        return [f"    {output.name} = {writer.text(output.nodes[0])}" + (f" + {prefix}zeros(shape)" if batch else "")]
    lines = [f"    {output.name} = {prefix}empty({size})"]
    for index, node in zip(np.ndindex(*output.shape), output.nodes):
        lines.append(f"    {output.name}[{at}{', '.join(map(str, index))}] = {writer.text(node)}")
    return lines


def _executed(source: str, name: str) -> Callable[..., Any]:
    space: dict[str, Any] = {word: getattr(np, word) for word in ("sin", "cos", "sqrt", "empty", "zeros")}
    exec(compile(source, f"<palpate derivation: {name}>", "exec"), space)
    return space[name]


def numpy_function(program: Program, name: str, values: Mapping[str, float]) -> Callable[..., Any]:
    """A function of arrays q, v, a (those used) whose last axis is the vector; further axes are states.

    Parameters default to `values`; the keyword `parameters` replaces some of them by name.
    """
    inner = _executed(_source(program, name, batch=True), name)
    sizes = {array: len(entries) for array, entries in program.inputs.items()}

    def function(*states: Any, parameters: Mapping[str, float] | None = None) -> Any:
        arrays = _checked(name, sizes, states)
        shape = np.broadcast_shapes(*(x.shape[:-1] for x in arrays)) if arrays else ()
        chosen = [_parameter_vector(program, values, parameters)] if program.parameters else []
        return inner(*arrays, *chosen, shape)

    function.__name__ = name
    function.__doc__ = f"{', '.join(o.name for o in program.outputs)} of ({', '.join(sizes)}), SI units."
    return function


def compiled_function(program: Program, name: str, values: Mapping[str, float]) -> Callable[..., Any]:
    """The same for one state at a time, compiled; parameters are those of `values`, fixed."""
    import numba

    plain = _executed(_source(program, name, batch=False), name)
    vector = numba.float64[::1]
    count = len(program.inputs) + bool(program.parameters)
    kernel = numba.njit([tuple([vector] * count)], error_model="numpy")(plain)
    sizes = {array: len(entries) for array, entries in program.inputs.items()}
    p = _parameter_vector(program, values, None)

    def function(*states: Any) -> Any:
        arrays = _checked(name, sizes, states)
        if any(x.ndim != 1 for x in arrays):
            raise BadShape(f"{name} compiled takes one state at a time", hint="use .function for many at once")
        return kernel(*arrays, p) if program.parameters else kernel(*arrays)

    function.__name__ = name
    return function


def _checked(name: str, sizes: Mapping[str, int], states: tuple[Any, ...]) -> list[Array]:
    if len(states) != len(sizes):
        raise InvalidInput(f"{name} takes ({', '.join(sizes)}), got {len(states)} argument(s)")
    arrays = []
    for (array, size), value in zip(sizes.items(), states):
        x = np.ascontiguousarray(value, dtype=np.float64)
        if x.ndim == 0 or x.shape[-1] != size:
            raise BadShape(f"{array} of {name} must have {size} entries along its last axis, got shape {x.shape}")
        if not np.isfinite(x).all():
            raise NotFinite(f"{array} of {name} must be finite")
        arrays.append(x)
    return arrays


def _parameter_vector(program: Program, values: Mapping[str, float], changed: Mapping[str, float] | None) -> Array:
    chosen = {**values, **(changed or {})}
    check_names("parameter", changed or {}, values)
    missing = [name for name in program.parameters if name not in chosen]
    if missing:
        raise InvalidInput(
            f"no value is known for {', '.join(missing)}", hint="give them as parameters={'name': value}"
        )
    return np.array([float(chosen[name]) for name in program.parameters])
