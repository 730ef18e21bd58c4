"""Named records, which compiled code and Python both read and write by name.

    class Gains(Record):
        stiffness: Matrix = sized(6, 6)
        damping: Vector = sized("n")
        exact: bool = False

A record is a table of 8-byte words. A number lies in the table itself; an array is its address and its lengths; a
record inside a record is the address of its table; a list of records is the address of a list of such addresses, and
their count. Compiled code resolves a field's place at compile time (`k.stiffness[i, j]`, `m.away = 0.0`), while sizes
stay run-time: one compilation serves every robot. In Python the same object has the same attributes, arrays as NumPy
views of the same memory.

A record that inherits has its parent's fields first, so that a step written for the parent takes the child too.

Fields that a tick leaves for the next one say so: `State[Vector]` for what the motion goes on from (joints, filters,
integrators), `Kept[int]` for what is carried along beside it (counts for after the run, the clock). All others are
written anew before they are read, or never change. `engine.carried` finds them.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Annotated, Any, ClassVar, Self, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numba import extending, types
from numpy.typing import NDArray

from palpate.engine.kinds import DTYPES, Kind
from palpate.engine.record_types import RecordsType, RecordType, numba_type
from palpate.errors import InvalidInput
from palpate.forking import cached_property

Integer = Annotated[int, Kind(types.int64)]
RealAt = Annotated[float, Kind(types.float64, behind=True)]
IntegerAt = Annotated[int, Kind(types.int64, behind=True)]
Vector = Annotated[NDArray[np.float64], Kind(types.float64, 1)]
Matrix = Annotated[NDArray[np.float64], Kind(types.float64, 2)]
Cube = Annotated[NDArray[np.float64], Kind(types.float64, 3)]
ReadVector = Annotated[NDArray[np.float64], Kind(types.float64, 1, readonly=True)]
ReadMatrix = Annotated[NDArray[np.float64], Kind(types.float64, 2, readonly=True)]
ReadCube = Annotated[NDArray[np.float64], Kind(types.float64, 3, readonly=True)]
Integers = Annotated[NDArray[np.int64], Kind(types.int64, 1)]
IntegerMatrix = Annotated[NDArray[np.int64], Kind(types.int64, 2)]
Int32s = Annotated[NDArray[np.int32], Kind(types.int32, 1)]
Int32Matrix = Annotated[NDArray[np.int32], Kind(types.int32, 2)]

_T = TypeVar("_T")


@dataclass(frozen=True)
class Carried:
    """Marks a field that a tick leaves for the next one.

    Attributes:
        moves: whether the motion goes on from it; else it is only carried along.
        counter: of a ring of samples, the field that counts them: row `counter % rows` is written next.
        line: whether of a ring only the oldest sample is read, so that the others do nothing but wait.
        rotation: whether it is a unit quaternion wxyz.
    """

    moves: bool = True
    counter: str = ""
    line: bool = False
    rotation: bool = False


State = Annotated[_T, Carried()]
Kept = Annotated[_T, Carried(moves=False)]

_PLAIN = {float: Kind(types.float64), int: Kind(types.int64), bool: Kind(types.boolean)}


@dataclass(frozen=True)
class Sized:
    """The size of an array field, in numbers or by names given when a record is made, and its start value."""

    shape: tuple[int | str, ...]
    start: Any = 0

    def resolve(self, sizes: Mapping[str, int], field: str) -> tuple[int, ...]:
        """The shape in numbers."""
        for length in self.shape:
            if isinstance(length, str) and length not in sizes:
                raise InvalidInput(
                    f"field {field!r} needs the size {length!r}; sizes given: {', '.join(sizes) or 'none'}"
                )
        return tuple(sizes[length] if isinstance(length, str) else length for length in self.shape)


def sized(*shape: int | str, start: Any = 0) -> Any:
    """Declare the size of an array field, in numbers or by name, and what it starts with."""
    return Sized(shape, start)


@dataclass(frozen=True)
class Field:
    """One field of a record: `kind` is a `Kind`, a record class, or a record class in a list."""

    name: str
    kind: Any
    offset: int
    default: Any
    listed: bool = False
    carried: Carried | None = None  # from tick to tick, and how

    @cached_property
    def real(self) -> bool:
        """Whether it is one number with a fraction."""
        return self.kind.element == types.float64

    @property
    def lengths(self) -> tuple[int | str | None, ...]:
        """Of an array, along each dimension: a number where every record has the same, which unrolls loops over it."""
        return self.default.shape if isinstance(self.default, Sized) else (None,) * self.kind.dimensions

    @property
    def words(self) -> int:
        """Words it takes in the table."""
        return 2 if self.listed else self.kind.words if isinstance(self.kind, Kind) else 1

    @property
    def numba(self) -> types.Type:
        """Its type in compiled code."""
        return compiled_type(self.kind, self.listed)


def compiled_type(kind: Any, listed: bool) -> types.Type:
    """The type in compiled code of what `kind_of` gives."""
    if listed:
        return RecordsType(kind)
    return kind.numba if isinstance(kind, Kind) else numba_type(kind)


_REQUIRED = object()


def kind_of(hint: Any, where: str) -> tuple[Any, bool]:
    """The kind behind an annotation, and whether it is a list of records."""
    if hint in _PLAIN:
        return _PLAIN[hint], False
    if get_origin(hint) is Annotated:
        for extra in get_args(hint)[1:]:
            if isinstance(extra, Kind):
                return extra, False
        return kind_of(get_args(hint)[0], where)
    if get_origin(hint) is list:
        return get_args(hint)[0], True
    if isinstance(hint, type) and issubclass(hint, Record):
        return hint, False
    raise InvalidInput(f"{where} is annotated {hint!r}; a record holds numbers, arrays (Vector, Matrix …) and records")


def carried_of(hint: Any) -> Carried | None:
    """How a field with an annotation is carried from tick to tick; None where it is not."""
    extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((extra for extra in extras if isinstance(extra, Carried)), None)


class Record:
    """Base of named records; see the module's docstring.

    Args:
        sizes: what the names in `sized(...)` stand for.
        values: numbers, arrays (kept as they are where they are contiguous and of the right type, copied otherwise),
            records, lists of records. What has a default or a size may be left out.
    """

    fields: ClassVar[dict[str, Field]] = {}
    words: ClassVar[int] = 0
    digest: ClassVar[str] = ""
    carried_whole: ClassVar[bool] = False  # its own numbers are all carried from tick to tick, though unmarked

    def __init_subclass__(cls) -> None:
        frame = sys._getframe(1)
        hints = get_type_hints(cls, localns={**frame.f_locals, cls.__name__: cls}, include_extras=True)
        cls.fields, offset = dict(cls.fields), cls.words
        for name in inspect.get_annotations(cls):
            if get_origin(hints[name]) is ClassVar:
                continue
            if name in cls.fields:  # a step written for the parent would read the parent's place
                raise InvalidInput(f"{cls.__name__}.{name} is a field of its parent already; give it another name")
            kind, listed = kind_of(hints[name], f"{cls.__name__}.{name}")
            field = Field(name, kind, offset, cls.__dict__.get(name, _REQUIRED), listed, carried_of(hints[name]))
            cls.fields[name] = field
            offset += field.words
            setattr(cls, name, _Attribute(field))
        cls.words = offset
        cls.digest = hashlib.sha256(
            repr([(f.name, str(f.numba), f.offset) for f in cls.fields.values()]).encode()
        ).hexdigest()[:12]

    def __init__(self, sizes: Mapping[str, int] | None = None, /, **values: Any) -> None:
        self._table = np.zeros(max(self.words, 1), dtype=np.int64)
        self._reals = self._table.view(np.float64)
        self.address: int = address_of_array(self._table)  # where the table lies, as long as the record is alive
        self._held: dict[str, Any] = {}
        self.replaced = False  # whether a field has become another array or record since this was last set to False
        unknown = values.keys() - self.fields.keys()
        if unknown:
            raise InvalidInput(
                f"{type(self).__name__} has no field {', '.join(sorted(unknown))}; it has {', '.join(self.fields)}"
            )
        for name, field in self.fields.items():
            if name in values:
                self._fill(field, values[name])
            elif isinstance(field.default, Sized):
                self._hold(field, self._start(field, sizes or {}))
            else:
                self._fill(field, self._start(field, sizes or {}))

    def _start(self, field: Field, sizes: Mapping[str, int]) -> Any:
        if isinstance(field.default, Sized):
            shape = field.default.resolve(sizes, field.name)
            start, kind = field.default.start, DTYPES[field.kind.element]
            return np.zeros(shape, kind) if isinstance(start, int) and start == 0 else np.full(shape, start, kind)
        if field.default is not _REQUIRED:
            return field.default
        if field.listed:
            return []
        if not isinstance(field.kind, Kind):
            return field.kind(sizes)
        raise InvalidInput(f"{type(self).__name__} needs a value for {field.name!r}")

    def _fill(self, field: Field, value: Any) -> None:
        if field.listed:
            tables = np.array([item.address for item in value], dtype=np.int64)
            self._held[field.name] = (list(value), tables)
            self._table[field.offset], self._table[field.offset + 1] = address_of_array(tables), len(tables)
        elif not isinstance(field.kind, Kind):
            if not isinstance(value, field.kind):
                raise InvalidInput(f"{type(self).__name__}.{field.name} must be a {field.kind.__name__}, got {value!r}")
            self._held[field.name] = value
            self._table[field.offset] = value.address
        elif field.kind.dimensions or field.kind.behind:
            self._hold_array(field, value)
        else:
            _write(self, field, value)

    def _hold_array(self, field: Field, value: Any) -> None:
        dimensions = max(field.kind.dimensions, 1)
        array = np.ascontiguousarray(value, dtype=DTYPES[field.kind.element])
        if array.ndim != dimensions or not array.flags.writeable:
            array = array.copy()
        wanted = field.default.shape if isinstance(field.default, Sized) else (None,) * dimensions
        fits = array.ndim == len(wanted) and all(not isinstance(w, int) or w == n for w, n in zip(wanted, array.shape))
        if not fits:
            raise InvalidInput(
                f"{type(self).__name__}.{field.name} must have shape"
                f" {tuple(w if w is not None else 'any' for w in wanted)}, got {array.shape}"
            )
        self._hold(field, array)

    def _hold(self, field: Field, array: NDArray[Any]) -> None:
        """Note where an array of the right kind lies, and its lengths."""
        self._held[field.name] = array
        self._table[field.offset] = address_of_array(array)
        for k, length in enumerate(array.shape if field.kind.dimensions else ()):
            self._table[field.offset + 1 + k] = length

    def replace(self, name: str, value: Any) -> None:
        """Let a field be another number, array, record or list of records: for the code that made the record."""
        self.replace_all({name: value})

    def replace_all(self, values: Mapping[str, Any]) -> None:
        """The same for several fields."""
        self.replaced = True
        for name, value in values.items():
            self._fill(self.fields[name], value)

    def write(self, values: Mapping[str, Any]) -> None:
        """Write numbers, and numbers into arrays, of several fields where they are."""
        for name, value in values.items():
            if isinstance(held := self._held.get(name), np.ndarray):
                held[...] = value
            else:
                _write(self, self.fields[name], value)

    @classmethod
    def shapes(cls, sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
        """The shape of every array field, for given sizes."""
        return {f.name: f.default.resolve(sizes, f.name) for f in cls.fields.values() if isinstance(f.default, Sized)}

    @classmethod
    def width(cls, sizes: Mapping[str, int]) -> int:
        """How many numbers its arrays hold together."""
        return sum(math.prod(shape) for shape in cls.shapes(sizes).values())

    @classmethod
    def columns(cls, rows: NDArray[np.float64], sizes: Mapping[str, int]) -> dict[str, NDArray[np.float64]]:
        """Views of a field's numbers in the last axis of an array, where the fields stand one after another."""
        counts = {name: math.prod(shape) for name, shape in cls.shapes(sizes).items()}
        ends = accumulate(counts.values())
        return {name: rows[..., end - count : end] for (name, count), end in zip(counts.items(), ends)}

    @classmethod
    def over(cls, row: NDArray[np.float64], sizes: Mapping[str, int]) -> Self:
        """A record whose arrays are the numbers of one row, one field after another."""
        shapes = cls.shapes(sizes)
        return cls(**{name: part.reshape(shapes[name]) for name, part in cls.columns(row, sizes).items()})

    def view(self, name: str) -> NDArray[Any]:
        """A field's own numbers: an array as it is, flat; a real as an array of one."""
        field = self.fields[name]
        if isinstance(field.kind, Kind) and field.kind.dimensions:
            return self._held[name].reshape(-1)
        if isinstance(field.kind, Kind) and field.kind.element == types.float64 and not field.kind.behind:
            return self._reals[field.offset : field.offset + 1]
        raise InvalidInput(f"{type(self).__name__}.{name} is neither an array nor a real")

    def copy(self) -> Self:
        """A record of its own with the same values, down to the last array."""
        return type(self)(**{name: _copied(getattr(self, name)) for name in self.fields})

    def __int__(self) -> int:
        return self.address

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **{name: getattr(self, name) for name in self.fields}), ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.fields)})"


def address_of_array(array: NDArray[Any]) -> int:
    """Where an array's numbers lie; faster than `array.ctypes`."""
    return array.__array_interface__["data"][0]


def _copied(value: Any) -> Any:
    if isinstance(value, list):
        return [item.copy() for item in value]
    return value.copy() if isinstance(value, Record | np.ndarray) else value


class ReadOnly:
    """A record that can only be read: the same attributes, its arrays protected."""

    def __init__(self, record: Record) -> None:
        self._record, self._seen = record, {}

    def __getattr__(self, name: str) -> Any:
        if name in self._seen:
            return self._seen[name]
        value = getattr(self._record, name)
        if isinstance(value, np.ndarray):
            value = value.view()
            value.flags.writeable = False
        elif isinstance(value, Record):
            value = ReadOnly(value)
        else:
            return value
        self._seen[name] = value
        return value

    def __dir__(self) -> list[str]:
        return list(self._record.fields)


def _write(record: Record, field: Field, value: Any) -> None:
    (record._reals if field.real else record._table)[field.offset] = value


class _Attribute:
    """A field seen from Python."""

    def __init__(self, field: Field) -> None:
        self.field = field

    def __get__(self, record: Record | None, owner: type) -> Any:
        field = self.field
        if record is None:
            return self
        if field.listed:
            return record._held[field.name][0]
        if not isinstance(field.kind, Kind) or field.kind.dimensions:
            return record._held[field.name]
        if field.kind.behind:
            return float(record._held[field.name][0])
        if field.real:
            return float(record._reals[field.offset])
        number = int(record._table[field.offset])
        return bool(number) if field.kind.element == types.boolean else number

    def __set__(self, record: Record, value: Any) -> None:
        field = self.field
        if field.listed or not isinstance(field.kind, Kind) or field.kind.dimensions:
            raise InvalidInput(f"{field.name!r} has a place of its own: write into it ({field.name}[:] = …)")
        if field.kind.behind:
            record._held[field.name][0] = value
        else:
            _write(record, field, value)


@extending.typeof_impl.register(Record)
def _typeof_record(record: Record, context: Any) -> RecordType:
    return numba_type(type(record))
