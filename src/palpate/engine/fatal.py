"""Fatal errors of the physics engine as a status, not as the end of the process.

MuJoCo reports what it cannot go on from (its arena is full in the middle of a step) to a handler that must not return,
and ends the process if there is none. `call_guarded` marks a place to come back to (setjmp) before it calls compiled
code, and the handler of this thread jumps there (longjmp), as MuJoCo's own Python bindings do. Between the two lie only
frames that own nothing: MuJoCo's C functions and kernels that count no references. The data of the physics are
broken afterwards; what was recorded is not.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import types

from palpate.engine.compiling.numba_parts import ExternalFunction
from palpate.engine.kernels import Kernel, call_at, kernel
from palpate.engine.library import WARNINGS  # loads the engine's symbols
from palpate.engine.records import Record, Vector, sized
from palpate.engine.signatures import instructions
from palpate.engine.views import address_of

FATAL = -2  # beside whatever the guarded code returns
_SET_HANDLER = "_mjPRIVATE_setTlsLogHandler"  # MuJoCo's own bindings use it
POSSIBLE = sys.platform != "win32" and llvmlite.binding.address_of_symbol(_SET_HANDLER) is not None  # setjmp, pthreads
_JUMP_BYTES, _TEXT_BYTES = 1024, 1024  # no platform's jmp_buf is larger; MuJoCo's text is as long as this
_ERROR_LEVEL, _TEXT_AT = 3, 8  # mjLOG_ERROR; where mjLogMessage holds its subject
_WORD = ir.IntType(64)

_key = ctypes.c_uint32(0)
if POSSIBLE and WARNINGS:
    ctypes.CDLL(None).pthread_key_create(ctypes.byref(_key), None)
llvmlite.binding.add_symbol("palpate_jump_key", ctypes.addressof(_key))
if llvmlite.binding.address_of_symbol(_SET_HANDLER) is None:  # named by the code below, then never called
    llvmlite.binding.add_symbol(_SET_HANDLER, ctypes.addressof(_key))

_P = types.int64
_set_handler: Any = ExternalFunction(_SET_HANDLER, _P(_P))
_setspecific: Any = ExternalFunction("pthread_setspecific", types.int32(types.uint32, _P))
_getspecific: Any = ExternalFunction("pthread_getspecific", _P(types.uint32))
_memcpy: Any = ExternalFunction("memcpy", _P(_P, _P, _P))
_longjmp: Any = ExternalFunction("longjmp", types.void(_P, types.int32))


class Rescue(Record):
    """Where to come back to, and what the engine said."""

    handler: int  # addresses of machine code: of the handler, of what is guarded
    code: int
    buffer: Vector = sized((_JUMP_BYTES + _TEXT_BYTES) // 8)  # jmp_buf, then text


def rescue_for(code: Kernel) -> Rescue:
    """A rescue for a kernel of (a record, a whole number) that returns a whole number."""
    return Rescue({}, code=code.pointer, handler=_handle.c_pointer if POSSIBLE else 0)


def fatal_message(rescue: Rescue) -> str:
    """Message of the engine when it gave up, on one line."""
    text = np.asarray(rescue.buffer).tobytes()[_JUMP_BYTES:].split(b"\0", 1)[0].decode("utf-8", "replace")
    return " ".join(text.split()) or "it gave no reason"


@instructions(types.uint32)
def _jump_key(context: Any, builder: Any) -> Any:
    """The key under which each thread keeps its rescue's ground."""
    known, name = builder.module.globals, "palpate_jump_key"
    return builder.load(known.get(name) or ir.GlobalVariable(builder.module, ir.IntType(32), name))


@instructions(types.int32, types.int64)
def _int32_at(context: Any, builder: Any, address: Any) -> Any:
    """The 32-bit number at an address."""
    return builder.load(builder.inttoptr(address, ir.IntType(32).as_pointer()))


@instructions(types.int64, *[types.int64] * 4)
def _call_with_way_back(context: Any, builder: Any, buffer: Any, code: Any, record: Any, number: Any) -> Any:
    """code(record, number), or FATAL where a longjmp to the ground ended it."""
    return builder.call(_way_back(context, builder.module), [buffer, code, record, number])


def _way_back(context: Any, module: Any) -> Any:
    """A function of its own, in which nothing but its arguments lives across the setjmp."""
    name = "palpate_way_back"
    if name in module.globals:
        return module.globals[name]
    function = ir.Function(module, ir.FunctionType(_WORD, [_WORD] * 4), name)
    function.linkage = "linkonce_odr"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block("mark"))
    go, returned = function.append_basic_block("go"), function.append_basic_block("back")
    setjmp = ir.Function(module, ir.FunctionType(ir.IntType(32), [_WORD]), "_setjmp")
    setjmp.attributes.add("returns_twice")
    jumped = builder.call(setjmp, [function.args[0]])
    builder.cbranch(builder.icmp_signed("==", jumped, ir.Constant(ir.IntType(32), 0)), go, returned)
    builder.position_at_end(go)
    words = [types.int64, types.int64]
    builder.ret(call_at(context, builder, function.args[1], types.int64, words, function.args[2:]))
    builder.position_at_end(returned)
    builder.ret(ir.Constant(_WORD, FATAL))
    return function


@kernel(from_c=True)
def _handle(message: int) -> None:
    """Of what the engine reports: warnings are counted elsewhere; an error ends the guarded call."""
    if _int32_at(message) < _ERROR_LEVEL:
        return
    buffer = _getspecific(_jump_key())
    _memcpy(buffer + _JUMP_BYTES, message + _TEXT_AT, _TEXT_BYTES)
    _longjmp(buffer, 1)


@kernel
def call_guarded(rescue: Rescue, record: int, number: int) -> int:
    """rescue.code(record, number); FATAL where the engine gave up."""
    buffer = address_of(rescue.buffer)
    if rescue.handler == 0:
        return _call_with_way_back(buffer, rescue.code, record, number)
    _setspecific(_jump_key(), buffer)
    before = _set_handler(rescue.handler)
    status = _call_with_way_back(buffer, rescue.code, record, number)
    _set_handler(before)
    return status
