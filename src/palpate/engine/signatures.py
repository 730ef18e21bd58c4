"""The compiled signature behind a kernel's annotations; functions of kernels whose machine code is written by hand."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any, get_args, get_origin, get_type_hints

from numba import types
from numba.extending import intrinsic

from palpate.engine.records import compiled_type, kind_of
from palpate.errors import InvalidInput

Function = Callable[..., Any]


def signature_of(function: Function, namespace: dict[str, Any]) -> Any:
    """The compiled signature behind a function's annotations."""
    hints = get_type_hints(function, localns=namespace, include_extras=True)
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    missing = [name for name in names if name not in hints]
    if missing:
        raise InvalidInput(f"kernel {function.__name__!r} needs a type for {', '.join(missing)}")
    arguments = [_compiled(hints[name], f"{function.__name__}({name})") for name in names]
    result = hints.get("return", type(None))
    return (types.void if result is type(None) else _compiled(result, f"result of {function.__name__}"))(*arguments)


def _compiled(hint: Any, where: str) -> types.Type:
    if get_origin(hint) is tuple:
        return types.Tuple([_compiled(part, where) for part in get_args(hint)])
    return compiled_type(*kind_of(hint, where))


def call_through(kernel: Any, name: str) -> Function:
    """A function that does nothing but call a kernel, at the place of the kernel's own in its file."""
    inner = kernel.py_func
    names = ", ".join(inner.__code__.co_varnames[: len(kernel.stated.args)])
    made: dict[str, Any] = {"kernel": kernel, "__name__": inner.__module__}
    exec(f"def {inner.__name__}({names}): return kernel({names})", made)
    function = made[inner.__name__]
    function.__code__ = function.__code__.replace(
        co_filename=inner.__code__.co_filename, co_firstlineno=inner.__code__.co_firstlineno
    )
    function.__qualname__ = f"{inner.__qualname__}.{name}"
    return function


def instructions(result: types.Type, *arguments: types.Type) -> Callable[[Function], Any]:
    """Make a function that kernels call of one that writes its machine code.

    That one takes numba's context, LLVM's builder and the LLVM values of the arguments, and returns the LLVM value of
    the result; nothing where the result is void.
    """

    def made(write: Function) -> Any:
        def typed(typingctx: Any, *given: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
                value = write(context, builder, *args)
                return context.get_dummy_value() if value is None else value

            return result(*arguments), generate

        names = "typingctx", *(f"argument{k}" for k in range(len(arguments)))
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        update_wrapper(typed, write).__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])  # pyright: ignore[reportAttributeAccessIssue]
        return intrinsic(typed)

    return made
