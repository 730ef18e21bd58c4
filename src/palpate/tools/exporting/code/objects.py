"""Kernels as objects for other machines: linked to one module, optimised for a target, nothing left undefined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from llvmlite import binding, ir

from palpate.engine.kernels import Kernel
from palpate.errors import printable
from palpate.escape.builds import cmake_string, hash_comment, json_text, make_text
from palpate.escape.c import c_comment, c_identifier
from palpate.escape.documents import html_text, markdown_text, xml_text
from palpate.escape.template import fill

PLAN = "plan"
_WORD, _CODE, _POINTER = ir.IntType(64), ir.IntType(32), ir.PointerType()


@dataclass(frozen=True)
class TargetMachine:
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
        TargetMachine("x86-64", "x86_64-unknown-linux-gnu", "x86-64"),
        TargetMachine("aarch64", "aarch64-unknown-linux-gnu", "generic"),
        TargetMachine("riscv64", "riscv64-unknown-linux-gnu", "generic-rv64", "+m,+a,+f,+d,+c", "lp64d"),
        TargetMachine("wasm32", "wasm32-unknown-unknown", "mvp", wide=False),
    )
}


# By the end of a template's name: how the values in it are escaped.
_LANGUAGES = {
    ".h": c_comment, ".hpp": c_comment, ".c": c_comment, ".cpp": c_comment, ".mjs": c_comment, ".xml": xml_text,
    ".md": markdown_text, ".yaml": hash_comment, ".json": json_text, "CMakeLists.txt": cmake_string,
    "Makefile": make_text, ".html": html_text, "launch.txt": c_identifier, "NOTICE.txt": printable, ".ll": c_identifier,
}  # fmt: skip


def template(name: str, values: Mapping[str, object]) -> str:
    """A file of the package with @NAMES@ filled in; values are escaped for its language, except `Written`."""
    text = template_text(name)
    return fill(text, values, next(escape for end, escape in _LANGUAGES.items() if name.endswith(end)))


def template_text(name: str) -> str:
    """A file of the package as it is."""
    return (files("palpate.tools.exporting") / "templates" / name).read_text(encoding="utf-8")


@cache
def _initialise_targets() -> None:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()


def machine(target: TargetMachine) -> binding.TargetMachine:
    """LLVM's writer of code for a target: position-independent and small, as an object of a library is."""
    _initialise_targets()
    return binding.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=3, reloc="pic", codemodel="default", abiname=target.abi
    )


def llvm_texts(kernels: Iterable[Kernel]) -> list[str]:
    """The code of kernels and of all that they call by symbols, free of the machine that they were compiled on."""
    reached: dict[str, Kernel] = {}
    waiting = list(kernels)
    while waiting:
        kernel = waiting.pop()
        if kernel.symbol not in reached:
            reached[kernel.symbol] = kernel
            waiting += kernel.callees
    return [_portable_text(kernel) for kernel in reached.values()]


@cache
def _portable_text(kernel: Kernel) -> str:
    """A kernel is compiled afresh once in a process: a law exported for twenty arms is the same kernels."""
    text = re.sub(r"^target (datalayout|triple) = .*\n", "", kernel.llvm(), flags=re.MULTILINE)
    text = text.replace(" = common ", " = internal ")  # which LLVM's writer of wasm does not survive
    return re.sub(r'^attributes (#\d+) = \{[^}]*"target-cpu"[^}]*\}', r"attributes \1 = { }", text, flags=re.MULTILINE)


@dataclass(frozen=True)
class CFunction:
    """A function of C, and the kernel entry(state, plan, a, b) behind it.

    Attributes:
        name: in C, after the law's name.
        kinds: of the arguments after the state: "pointer", "size", "version", "seconds".
        stores: whether the addresses of the law's functions go into the state once it is done.
    """

    name: str
    kernel: Any  # a Kernel
    kinds: tuple[str, ...] = ()
    stores: bool = False


class Glue:
    """The functions of C around the kernels. What differs from arm to arm is in the plan, data that is linked later."""

    def __init__(self, wide: bool) -> None:
        self.module = ir.Module("glue")
        self.size = _WORD if wide else ir.IntType(32)
        self.plan = ir.GlobalVariable(self.module, ir.ArrayType(_WORD, 0), PLAN)
        self.stored: list[tuple[int, Any]] = []  # the plan's word that says where in the state, and the function

    def law(self, name: str, kernel: Kernel, word: int) -> None:
        """int64_t name(tick, gains, memory, terms): the status of the law's own code; name_code, as kernels call it."""
        function, builder = self._function(name, _WORD, [_WORD] * 4)
        builder.ret(builder.zext(self._call(builder, kernel, function.args)[0], _WORD))
        self.stored.append((word, function))
        same, builder = self._function(f"{name}_code", _CODE, [_POINTER, _POINTER, *[_WORD] * 4])
        builder.ret(builder.call(self.module.get_global(kernel.symbol), same.args))

    def forwarder(self, called: str, count: int, word: int) -> None:
        """void called_c(int64_t address, …), which calls a function of as many pointers."""
        inner: Any = ir.Function(self.module, ir.FunctionType(ir.VoidType(), [_POINTER] * count), called)
        function, builder = self._function(f"{called}_c", ir.VoidType(), [_WORD] * count)
        builder.call(inner, [builder.inttoptr(a, _POINTER) for a in function.args])
        builder.ret_void()
        self.stored.append((word, function))

    def entry(self, entry: CFunction) -> None:
        """int32_t name(void *state, …)."""
        kinds = {"pointer": _POINTER, "size": self.size, "version": _CODE, "seconds": ir.DoubleType()}
        function, builder = self._function(entry.name, _CODE, [_POINTER, *(kinds[kind] for kind in entry.kinds)])
        words = [self._word(builder, a) for a in function.args]
        words += [ir.Constant(_WORD, 0)] * (3 - len(words))
        plan = builder.ptrtoint(self.plan, _WORD)
        status, code = self._call(builder, entry.kernel, [words[0], plan, *words[1:]])
        sound = builder.icmp_signed("==", status, ir.Constant(_CODE, 0))
        code = builder.select(sound, builder.trunc(code, _CODE), ir.Constant(_CODE, 12))
        if entry.stores:
            with builder.if_then(builder.icmp_signed("==", code, ir.Constant(_CODE, 0))):
                for word, stored in self.stored:
                    offset = builder.load(self._at(builder, plan, ir.Constant(_WORD, word)), typ=_WORD)
                    builder.store(builder.ptrtoint(stored, _WORD), self._at(builder, words[0], offset))
        builder.ret(code)

    def _at(self, builder: Any, address: Any, word: Any) -> Any:
        return builder.inttoptr(builder.add(address, builder.mul(word, ir.Constant(_WORD, 8))), _POINTER)

    def _word(self, builder: Any, value: Any) -> Any:
        if isinstance(value.type, ir.PointerType):
            return builder.ptrtoint(value, _WORD)
        if isinstance(value.type, ir.DoubleType):
            return builder.bitcast(value, _WORD)
        return value if value.type == _WORD else builder.zext(value, _WORD)

    def _function(self, name: str, result: Any, arguments: Sequence[Any]) -> tuple[Any, Any]:
        function = ir.Function(self.module, ir.FunctionType(result, arguments), name)
        return function, ir.IRBuilder(function.append_basic_block())

    def _call(self, builder: Any, kernel: Kernel, words: Sequence[Any]) -> tuple[Any, Any]:
        """Call a kernel as numba's code is called: status returned, result behind a pointer."""
        kind = ir.FunctionType(_CODE, [_POINTER, _POINTER, *[_WORD] * len(words)])
        function: Any = self.module.globals.get(kernel.symbol) or ir.Function(self.module, kind, kernel.symbol)
        result, error = builder.alloca(_WORD), builder.alloca(_WORD)
        status = builder.call(function, [result, error, *words])
        return status, builder.load(result)


def optimised(texts: Sequence[str], glue: Glue, public: Set[str], target: TargetMachine) -> bytes:
    """All texts as one optimised module (LLVM's bitcode); every symbol but the public ones is its own.

    Pointers of the target count, no other property of it: the passes reorder no arithmetic and contract nothing.
    """
    maker = machine(target)
    module = binding.parse_assembly(str(glue.module).replace('target triple = "unknown-unknown-unknown"', ""))
    helpers = [template("memory.ll", {"SIZE": "i64" if target.wide else "i32"})]
    helpers += [] if target.wide else [template("product.ll", {})]
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


def with_plan(bitcode: bytes, names: dict[str, str], plan: Sequence[int], target: TargetMachine) -> Any:
    """An optimised module for a target, its public functions renamed, with the plan's words beside the code."""
    module = binding.parse_bitcode(bitcode)
    words = ", ".join(f"i64 {word}" for word in plan)
    module.link_in(binding.parse_assembly(f"@{PLAN} = constant [{len(plan)} x i64] [{words}], align 8"))
    module.get_global_variable(PLAN).linkage = "internal"
    for old, new in names.items():
        module.get_function(old).name = new
    module.triple, module.data_layout = target.triple, str(machine(target).target_data)
    return module
