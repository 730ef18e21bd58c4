"""Records in compiled code: numba types of records and of lists of them, reading and writing of their fields."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import extending, types

from palpate.engine.compiling.numba_parts import AttributeTemplate, Conversion, default_type_manager
from palpate.engine.kinds import Kind
from palpate.engine.views import make_view
from palpate.errors import InvalidInput

if TYPE_CHECKING:
    from palpate.engine.records import Field, Record

_WORD = ir.IntType(64)


class RecordType(types.Type):
    """A record in compiled code: the address of its table. Its name changes with its layout: so does a cache's key."""

    def __init__(self, record: type[Record]) -> None:
        self.record = record
        super().__init__(name=f"record {record.__module__}.{record.__qualname__} {record.digest}")

    def can_convert_to(self, typingctx: Any, other: types.Type) -> Any:
        """A record serves where its parent is asked for."""
        if isinstance(other, RecordType) and issubclass(self.record, other.record):
            return Conversion.safe
        return None


class RecordsType(types.Type):
    """A list of records in compiled code."""

    def __init__(self, record: type[Record]) -> None:
        self.record = record
        super().__init__(name=f"records {record.__module__}.{record.__qualname__} {record.digest}")


@cache
def numba_type(record: type[Record]) -> RecordType:
    """The type of a record in compiled code; from Python its address is taken for it too."""
    kind = RecordType(record)
    default_type_manager.set_unsafe_convert(types.int64, kind)
    return kind


@extending.register_model(RecordType)
@extending.register_model(RecordsType)
class _AddressModel(extending.models.PrimitiveModel):
    """The address of a record's table; of a list of records, that of the pair (list, count)."""

    def __init__(self, manager: Any, kind: types.Type) -> None:
        super().__init__(manager, kind, _WORD)


@extending.unbox(RecordType)
def _unbox_record(kind: RecordType, value: Any, context: Any) -> extending.NativeValue:
    number = context.pyapi.number_long(value)  # a record, or its address, which numba tells apart much faster
    address = context.pyapi.long_as_longlong(number)
    context.pyapi.decref(number)
    return extending.NativeValue(address)


@extending.lower_cast(RecordType, RecordType)
def _cast_to_parent(context: Any, builder: Any, source: Any, target: Any, value: Any) -> Any:
    return value


@extending.infer_getattr
class _Fields(AttributeTemplate):
    key = RecordType

    def generic_resolve(self, record: RecordType, name: str) -> types.Type | None:
        field = record.record.fields.get(name)
        return None if field is None else field.numba


def _fixed_word(builder: Any, table: Any, index: Any) -> Any:
    """An address or a length in a table: it never changes, so that the optimiser may read it once."""
    word = builder.load(builder.gep(table, [index]))
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word


def _number_pointer(builder: Any, table: Any, field: Field, element: Any) -> Any:
    """Where a number lies: in the table, or behind the address there."""
    if field.kind.behind:
        return builder.inttoptr(_fixed_word(builder, table, _WORD(field.offset)), element.as_pointer())
    return builder.bitcast(builder.gep(table, [_WORD(field.offset)]), element.as_pointer())


@extending.lower_getattr_generic(RecordType)
def _read_field(context: Any, builder: Any, kind: RecordType, record: Any, name: str) -> Any:
    field = kind.record.fields[name]
    table = builder.inttoptr(record, _WORD.as_pointer())
    if field.listed:
        return builder.add(record, _WORD(8 * field.offset))
    if not isinstance(field.kind, Kind):
        return _fixed_word(builder, table, _WORD(field.offset))
    if field.kind.dimensions == 0:
        if field.kind.element == types.boolean:
            word = builder.load(builder.gep(table, [_WORD(field.offset)]))
            return builder.icmp_unsigned("!=", word, _WORD(0))
        return builder.load(_number_pointer(builder, table, field, context.get_data_type(field.kind.element)))
    address = _fixed_word(builder, table, _WORD(field.offset))
    pointer = builder.inttoptr(address, context.get_data_type(field.kind.element).as_pointer())
    shape = [
        _WORD(length) if isinstance(length, int) else _fixed_word(builder, table, _WORD(field.offset + k))
        for k, length in enumerate(field.lengths, 1)
    ]
    return make_view(context, builder, field.kind.numba, pointer, shape)  # pyright: ignore[reportArgumentType]


@extending.lower_setattr_generic(RecordType)
def _write_field(context: Any, builder: Any, signature: Any, args: Sequence[Any], name: str) -> None:
    field = signature.args[0].record.fields[name]
    if not isinstance(field.kind, Kind) or field.kind.dimensions:
        raise InvalidInput(f"{name!r} has a place of its own: write into it ({name}[i] = …)")
    table = builder.inttoptr(args[0], _WORD.as_pointer())
    if field.kind.element == types.boolean:
        builder.store(builder.zext(args[1], _WORD), builder.gep(table, [_WORD(field.offset)]))
    else:
        builder.store(args[1], _number_pointer(builder, table, field, context.get_data_type(field.kind.element)))


@extending.type_callable(operator.getitem)
def _type_item(context: Any) -> Any:
    return lambda records, k: numba_type(records.record) if isinstance(records, RecordsType) else None


@extending.lower_builtin(operator.getitem, RecordsType, types.Integer)
def _lower_item(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
    pair = builder.inttoptr(args[0], _WORD.as_pointer())
    tables = builder.inttoptr(_fixed_word(builder, pair, _WORD(0)), _WORD.as_pointer())
    index = context.cast(builder, args[1], signature.args[1], types.int64)
    return _fixed_word(builder, tables, index)


@extending.type_callable(len)
def _type_length(context: Any) -> Any:
    return lambda records: types.int64 if isinstance(records, RecordsType) else None


@extending.lower_builtin(len, RecordsType)
def _lower_length(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
    return _fixed_word(builder, builder.inttoptr(args[0], _WORD.as_pointer()), _WORD(1))
