"""Kept kernels as numba asks for them: results of compilations out of our files, and into them."""

from __future__ import annotations

import importlib
import sys
from functools import reduce
from typing import Any

from numba.core.compiler import CompileResult
from numba.core.environment import Environment, _rebuild_env
from numba.core.funcdesc import PythonFunctionDescriptor

from palpate.engine.compiling.cache import origin_of
from palpate.engine.compiling.kernel_files import Callee, KeptKernel
from palpate.engine.compiling.lean_compiler import called_places
from palpate.engine.compiling.shipped import KernelCache


def kernel_at(callee: Callee) -> Any:
    """The kernel that stands at a place."""
    module = sys.modules.get(callee.module) or importlib.import_module(callee.module)
    return reduce(getattr, callee.name.split("."), module)


def bind(places: tuple[Callee, ...]) -> bool:
    """Make called kernels ready, before code that refers to their symbols is loaded; whether each has its symbol."""
    return all(kernel_at(callee).symbol == callee.symbol for callee in places)


class NumbaCache:
    """Cache of kept code, as numba asks for it: results of compilations are read from our files and written to them."""

    cache_path = "palpate cache"  # shown in numba's statistics

    def __init__(self, function: Any, allocates: bool) -> None:
        self._function, self._allocates = function, allocates
        self._files = KernelCache(origin_of(function))

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """A kept kernel that fits; half a second of imports by numba is spent only where code allocates."""
        if self._allocates:
            target_context.refresh()
        for kept in self._files.read(str(sig), _processor(target_context)):
            try:
                if bind(kept.callees):
                    return self._rebuilt(sig, target_context, kept)
            except (ImportError, AttributeError):  # a module or a kernel that it refers to is gone
                continue
        return None

    def save_overload(self, sig: Any, data: CompileResult) -> None:
        """Keep a kernel, if plain data can say what it is."""
        environments = data._find_referenced_environments()
        constants = any(env.consts for env in (data.environment, *environments))
        fixed = not (data.library.has_dynamic_globals or data.lifted or data.reload_init or data.fndesc.global_dict)
        if constants or not fixed:
            return
        name, _, (object_code, bitcode) = data.library.serialize_using_object_code()
        names = data.fndesc.unique_name, data.fndesc.mangled_name, data.fndesc.env_name
        envs = [(env.env_name, env.globals["__name__"]) for env in environments]
        callees = called_places(data.library)
        kept = KeptKernel("", name, *names, data.fndesc.inline, envs, callees, object_code, bitcode)
        self._files.write(str(sig), _processor(data.target_context), kept)

    def _rebuilt(self, sig: Any, context: Any, kept: KeptKernel) -> CompileResult:
        """A result of a compilation out of what was kept and of what is known from the function."""
        code, module = self._function.__code__, self._function.__module__
        descriptor = PythonFunctionDescriptor(
            native=True, modname=module, qualname=self._function.__qualname__, unique_name=kept.unique_name, doc="",
            typemap=None, restype=sig.return_type, calltypes=None, args=code.co_varnames[: code.co_argcount], kws=(),
            mangler=lambda *name, **more: kept.symbol, argtypes=sig.args, inline=kept.inline,
            env_name=kept.environment,
        )  # fmt: skip
        content = kept.library, "object", (kept.object_code, kept.bitcode)
        environments = [_rebuild_env(origin, (), name) for name, origin in kept.environments]
        mine = Environment.from_fndesc(descriptor)
        result = CompileResult._rebuild(context, content, descriptor, mine, sig, False, (), "", (), tuple(environments))
        result.library.called, result.library.object_code = kept.callees, kept.object_code
        return result


def _processor(target_context: Any) -> str:
    return " ".join(map(str, target_context.codegen().magic_tuple()))
