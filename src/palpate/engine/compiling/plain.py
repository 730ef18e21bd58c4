"""Kernels by numba's public interface alone, for versions whose inner parts are not known (`numba_parts.py`).

A kernel is `numba.njit` with the signature that its annotations state, made when it is first needed, in each process
anew; what calls it through an address takes that of a `numba.cfunc`. Numba copies a kernel's code into its callers:
that is slower to compile and gives the same numbers.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import typeof_impl

from palpate.engine.compiling.numba_parts import compiling
from palpate.engine.signatures import Function, call_through, signature_of
from palpate.errors import InvalidInput
from palpate.forking import cached_property

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


class Kernel:
    """A function compiled to the one signature that its annotations state, not before it is first needed."""

    def __init__(self, function: Function, namespace: dict[str, Any], **options: bool) -> None:
        self.py_func, self.__doc__, self.__name__ = function, function.__doc__, function.__name__
        self._namespace = namespace

    @cached_property
    def stated(self) -> Any:
        """The signature that the annotations state."""
        namespace, self._namespace = self._namespace, {}  # a function's names would keep all it has alive
        return signature_of(self.py_func, namespace)

    @cached_property
    def compiled(self) -> Any:
        """Numba's own function."""
        with compiling(self):
            return numba.njit(self.stated, **_OPTIONS)(self.py_func)

    def ready(self) -> None:
        """Compile, if that has not been done."""
        assert self.compiled is not None

    def __call__(self, *args: Any) -> Any:
        try:
            return self.compiled(*args)
        except TypeError as error:
            taken = ", ".join(map(str, self.stated.args))
            raise InvalidInput(f"{self.__name__} takes ({taken}): {error}") from error

    @property
    def symbol(self) -> str:
        """The name of its machine code."""
        return self.compiled.overloads[tuple(self.stated.args)].fndesc.llvm_func_name

    @property
    def callees(self) -> list[Kernel]:
        """None: what it calls is part of its own code."""
        return []

    def llvm(self) -> str:
        """Its code in LLVM's language."""
        return self.compiled.inspect_llvm(tuple(self.stated.args))

    @cached_property
    def _from_c(self) -> Any:
        return numba.cfunc(self.stated)(call_through(self, "from_c"))

    @property
    def pointer(self) -> int:
        """Address of the machine code, for `call_at`; valid as long as the kernel is."""
        return self._from_c.address

    c_pointer = pointer


@typeof_impl.register(Kernel)
def _typeof_kernel(kernel: Kernel, context: Any) -> types.Type:
    return numba.typeof(kernel.compiled)  # pyright: ignore[reportReturnType]


def call_at(context: Any, builder: Any, address: Any, result: types.Type, arguments: Any, values: Any) -> Any:
    """Machine code that calls a kernel at its `pointer`; the value is what the kernel returns."""
    kind = ir.FunctionType(context.get_value_type(result), [context.get_value_type(kind) for kind in arguments])
    return builder.call(builder.inttoptr(address, kind.as_pointer()), values)
