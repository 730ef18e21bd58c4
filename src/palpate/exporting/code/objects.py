"""Kernels as objects for other machines: linked to one module, optimised for a target, nothing left undefined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from llvmlite import binding, ir

from palpate.engine.kernels import Kernel

_WORD, _CODE = ir.IntType(64), ir.IntType(32)


@dataclass(frozen=True)
class Target:
    """A machine that code is written for: LLVM's name of it, its features, its calling rules."""

    name: str
    triple: str
    cpu: str
    features: str = ""
    abi: str = ""
    wide: bool = True  # pointers of 64 bits


TARGETS = {
    target.name: target
    for target in (
        Target("x86-64", "x86_64-unknown-linux-gnu", "x86-64"),
        Target("aarch64", "aarch64-unknown-linux-gnu", "generic"),
        Target("riscv64", "riscv64-unknown-linux-gnu", "generic-rv64", "+m,+a,+f,+d,+c", "lp64d"),
        Target("wasm32", "wasm32-unknown-unknown", "mvp", wide=False),
    )
}


@cache
def _ready() -> None:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()


def machine(target: Target) -> binding.TargetMachine:
    """LLVM's writer of code for a target: position-independent and small, as an object of a library is."""
    _ready()
    return binding.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=3, reloc="pic", codemodel="default", abiname=target.abi
    )


def closure(kernels: Iterable[Kernel]) -> list[Kernel]:
    """Kernels and everything that they call by symbols."""
    reached: dict[str, Kernel] = {}
    waiting = list(kernels)
    while waiting:
        kernel = waiting.pop()
        if kernel.symbol not in reached:
            reached[kernel.symbol] = kernel
            waiting += kernel.callees
    return list(reached.values())


def llvm_texts(kernels: Iterable[Kernel]) -> list[str]:
    """The code of kernels and of all that they call, free of the machine that they were compiled on."""
    return [_portable_text(kernel) for kernel in closure(kernels)]


@cache
def _portable_text(kernel: Kernel) -> str:
    """A kernel is compiled afresh once in a process: a law exported for twenty arms is the same kernels."""
    text = re.sub(r"^target (datalayout|triple) = .*\n", "", kernel.llvm(), flags=re.MULTILINE)
    text = text.replace(" = common ", " = internal ")  # which LLVM's writer of wasm does not survive
    return re.sub(r'^attributes (#\d+) = \{[^}]*"target-cpu"[^}]*\}', r"attributes \1 = { }", text, flags=re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """A function of C, and the kernel entry(state, plan, a, b) behind it.

    Attributes:
        name: in C.
        kinds: of the arguments after the state: "pointer", "size", "version", "seconds".
        stores: functions whose addresses go into words of the state once it is made.
    """

    name: str
    kernel: Any  # a Kernel
    kinds: tuple[str, ...] = ()
    stores: tuple[tuple[int, str], ...] = ()


class Glue:
    """The functions of C around the kernels, and the constant data."""

    def __init__(self, wide: bool) -> None:
        self.module = ir.Module("glue")
        self.size = _WORD if wide else ir.IntType(32)

    def words(self, name: str, numbers: Sequence[int]) -> None:
        """Constant words."""
        data = np.array([n if n < 2**63 else n - 2**64 for n in map(int, numbers)], dtype=np.int64)
        kind = ir.ArrayType(_WORD, len(data))
        made: Any = ir.GlobalVariable(self.module, kind, name)
        made.initializer, made.global_constant = ir.Constant(kind, data.tolist()), True
        made.linkage, made.align = "internal", 8

    def law(self, name: str, kernel: Kernel) -> None:
        """int64_t name(tick, gains, memory, terms): the status of the law's own code; name_code, as kernels call it."""
        function = self._c_function(name, _WORD, [_WORD] * 4)
        builder = ir.IRBuilder(function.append_basic_block())
        builder.ret(builder.zext(self._call(builder, kernel, function.args)[0], _WORD))
        pointer = ir.PointerType()
        same = self._c_function(f"{name}_code", _CODE, [pointer, pointer, *[_WORD] * 4])
        builder = ir.IRBuilder(same.append_basic_block())
        builder.ret(builder.call(self.module.get_global(kernel.symbol), same.args))

    def passing(self, name: str, called: str, count: int) -> None:
        """void name(int64_t address, …), which calls a function of as many pointers."""
        pointer = ir.PointerType()
        inner: Any = ir.Function(self.module, ir.FunctionType(ir.VoidType(), [pointer] * count), called)
        function = self._c_function(name, ir.VoidType(), [_WORD] * count)
        builder = ir.IRBuilder(function.append_basic_block())
        builder.call(inner, [builder.inttoptr(a, pointer) for a in function.args])
        builder.ret_void()

    def entry(self, entry: Entry) -> None:
        """int32_t name(void *state, …)."""
        pointer = ir.PointerType()
        kinds = {"pointer": pointer, "size": self.size, "version": _CODE, "seconds": ir.DoubleType()}
        function = self._c_function(entry.name, _CODE, [pointer, *(kinds[kind] for kind in entry.kinds)])
        builder = ir.IRBuilder(function.append_basic_block())
        words = [self._word(builder, a) for a in function.args]
        words += [ir.Constant(_WORD, 0)] * (3 - len(words))
        plan = builder.ptrtoint(self.module.get_global("plan"), _WORD)
        status, code = self._call(builder, entry.kernel, [words[0], plan, *words[1:]])
        sound = builder.icmp_signed("==", status, ir.Constant(_CODE, 0))
        code = builder.select(sound, builder.trunc(code, _CODE), ir.Constant(_CODE, 12))
        if entry.stores:
            with builder.if_then(builder.icmp_signed("==", code, ir.Constant(_CODE, 0))):
                for word, name in entry.stores:
                    at = builder.inttoptr(builder.add(words[0], ir.Constant(_WORD, 8 * word)), _WORD.as_pointer())
                    builder.store(builder.ptrtoint(self.module.get_global(name), _WORD), at)
        builder.ret(code)

    def _word(self, builder: Any, value: Any) -> Any:
        if isinstance(value.type, ir.PointerType):
            return builder.ptrtoint(value, _WORD)
        if isinstance(value.type, ir.DoubleType):
            return builder.bitcast(value, _WORD)
        return value if value.type == _WORD else builder.zext(value, _WORD)

    def _c_function(self, name: str, result: Any, arguments: Sequence[Any]) -> Any:
        return ir.Function(self.module, ir.FunctionType(result, arguments), name)

    def _call(self, builder: Any, kernel: Kernel, words: Sequence[Any]) -> tuple[Any, Any]:
        """Call a kernel as numba's code is called: status returned, result behind a pointer."""
        pointer, known = ir.PointerType(), self.module.globals.get(kernel.symbol)
        kind = ir.FunctionType(_CODE, [pointer, pointer, *[_WORD] * len(words)])
        function: Any = known or ir.Function(self.module, kind, kernel.symbol)
        result, error = builder.alloca(_WORD), builder.alloca(_WORD)
        status = builder.call(function, [result, error, *words])
        return status, builder.load(result)


_MEMORY = """
define internal ptr @memset(ptr returned %to, i32 %byte, SIZE %n) #0 {
entry:
  %b = trunc i32 %byte to i8
  br label %test
test:
  %i = phi SIZE [ 0, %entry ], [ %next, %body ]
  %more = icmp ult SIZE %i, %n
  br i1 %more, label %body, label %done
body:
  %at = getelementptr i8, ptr %to, SIZE %i
  store volatile i8 %b, ptr %at
  %next = add SIZE %i, 1
  br label %test
done:
  ret ptr %to
}
define internal ptr @memcpy(ptr returned %to, ptr %from, SIZE %n) #0 {
  %same = call ptr @memmove(ptr %to, ptr %from, SIZE %n)
  ret ptr %same
}
define internal ptr @memmove(ptr returned %to, ptr %from, SIZE %n) #0 {
entry:
  %up = icmp ult ptr %to, %from
  br label %test
test:
  %i = phi SIZE [ 0, %entry ], [ %next, %body ]
  %more = icmp ult SIZE %i, %n
  br i1 %more, label %body, label %done
body:
  %last = sub SIZE %n, 1
  %back = sub SIZE %last, %i
  %k = select i1 %up, SIZE %i, SIZE %back
  %source = getelementptr i8, ptr %from, SIZE %k
  %at = getelementptr i8, ptr %to, SIZE %k
  %b = load i8, ptr %source
  store volatile i8 %b, ptr %at
  %next = add SIZE %i, 1
  br label %test
done:
  ret ptr %to
}
@llvm.used = appending global [3 x ptr] [ptr @memset, ptr @memcpy, ptr @memmove], section "llvm.metadata"
attributes #0 = { noinline nounwind "no-builtins" }
"""  # what compilers call without being asked; volatile, so that no loop here becomes a call of itself
_PRODUCT = """
define internal void @__multi3(ptr %out, i64 %a, i64 %ah, i64 %b, i64 %bh) #0 {
  %a0 = and i64 %a, 4294967295
  %a1 = lshr i64 %a, 32
  %b0 = and i64 %b, 4294967295
  %b1 = lshr i64 %b, 32
  %low = mul i64 %a0, %b0
  %one = mul i64 %a1, %b0
  %other = mul i64 %a0, %b1
  %top = mul i64 %a1, %b1
  %carry = lshr i64 %low, 32
  %one0 = and i64 %one, 4294967295
  %other0 = and i64 %other, 4294967295
  %m = add i64 %carry, %one0
  %middle = add i64 %m, %other0
  %one1 = lshr i64 %one, 32
  %other1 = lshr i64 %other, 32
  %over = lshr i64 %middle, 32
  %h1 = add i64 %top, %one1
  %h2 = add i64 %h1, %other1
  %h3 = add i64 %h2, %over
  %cross = mul i64 %a, %bh
  %cross2 = mul i64 %ah, %b
  %h4 = add i64 %h3, %cross
  %high = add i64 %h4, %cross2
  %whole = mul i64 %a, %b
  store i64 %whole, ptr %out
  %at = getelementptr i64, ptr %out, i32 1
  store i64 %high, ptr %at
  ret void
}
@llvm.used = appending global [1 x ptr] [ptr @__multi3], section "llvm.metadata"
attributes #0 = { noinline optnone nounwind "no-builtins" }
"""  # 128 bits of a product, which machines of 32 bits call; not optimised, so that it is not taken for one itself


def optimised(texts: Sequence[str], glue: Glue, public: Set[str], target: Target) -> bytes:
    """All texts as one optimised module (LLVM's bitcode); every symbol but the public ones is its own.

    Pointers of the target count, no other property of it: the passes reorder no arithmetic and contract nothing.
    """
    maker = machine(target)
    module = binding.parse_assembly(str(glue.module).replace('target triple = "unknown-unknown-unknown"', ""))
    helpers = [_MEMORY.replace("SIZE", "i64")] if target.wide else [_MEMORY.replace("SIZE", "i32"), _PRODUCT]
    for text in [*texts, *helpers]:
        module.link_in(binding.parse_assembly(text))
    module.triple, module.data_layout = target.triple, str(maker.target_data)
    for function in module.functions:
        if not function.is_declaration and function.name not in public:
            function.linkage = "internal"
    module.verify()
    builder = binding.create_pass_builder(maker, binding.create_pipeline_tuning_options(speed_level=2))
    builder.getModulePassManager().run(module, builder)
    return module.as_bitcode()


def emit(bitcode: bytes, target: Target) -> bytes:
    """An object file for a target."""
    maker = machine(target)
    return maker.emit_object(_for(bitcode, target, maker))


def assembly(bitcode: bytes, target: Target) -> str:
    """The same as text."""
    maker = machine(target)
    return maker.emit_assembly(_for(bitcode, target, maker))


def _for(bitcode: bytes, target: Target, maker: binding.TargetMachine) -> Any:
    module = binding.parse_bitcode(bitcode)
    module.triple, module.data_layout = target.triple, str(maker.target_data)
    return module
