"""Arrays in the code of a kernel as plain values.

Numba keeps an array (address, shape, strides and four more) in memory wherever an element is read or written, and LLVM
then dissolves that memory again: of a kernel's code before it is optimised, three quarters were such loads and stores.
Kernels that allocate keep numba's own arrays.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.np import arrayobj

make_array = arrayobj.make_array


class ArrayValue:
    """An array by the names of its parts, as numba's own structure has them."""

    def __init__(self, kind: types.Array, context: Any, builder: Any, value: Any = None) -> None:
        model = context.data_model_manager[kind]
        whole = ir.Constant(model.get_value_type(), None) if value is None else value
        known = {"_context": context, "_builder": builder, "_datamodel": model, "_fe_type": kind, "_whole": whole}
        self.__dict__.update(known, _parts={})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        key = name, self._builder.block  # a part that was read serves again in the same block
        if key not in self._parts:
            self._parts[key] = self._builder.extract_value(self._whole, self._datamodel.get_field_position(name))
        return self._parts[key]

    def __setattr__(self, name: str, value: Any) -> None:
        position = self._datamodel.get_field_position(name)
        self.__dict__.update(_whole=self._builder.insert_value(self._whole, value, position), _parts={})

    def _getvalue(self) -> Any:
        return self._whole

    def _getpointer(self) -> Any:
        return cgutils.alloca_once_value(self._builder, self._whole)


def make_array_value(kind: Any) -> Any:
    """Make the arrays of a type: as values, in kernels that do not allocate, where they do not lie in memory anyway."""

    def make(context: Any, builder: Any, value: Any = None, ref: Any = None) -> Any:
        if ref is not None or context.enable_nrt or type(kind) is not types.Array:
            return make_array(kind)(context, builder, value=value, ref=ref)
        return ArrayValue(kind, context, builder, value)

    return make
