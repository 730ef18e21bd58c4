"""Named records: the same fields in Python and in compiled code."""

from __future__ import annotations

import pickle

import mujoco
import numpy as np
import pytest

from palpate.engine.kernels import address_of_record, call_law, kernel
from palpate.engine.library import mj_step
from palpate.engine.physics import Physics
from palpate.engine.records import Cube, Integers, Matrix, ReadOnly, ReadVector, Record, Vector, sized
from palpate.engine.views import flat, fold, part
from palpate.errors import InvalidInput


class Inner(Record):
    k: Vector = sized(3, start=(1.0, 2.0, 3.0))
    g: float = 2.0
    on: bool = True


class Outer(Inner):
    M: Matrix = sized("n", "n")
    deep: Cube = sized(2, "n", 3)
    marks: Integers = sized("n")
    inner: Inner
    many: list[Inner]
    count: int = 0


@kernel
def _raise_gain(a: Inner, x: float) -> float:
    a.g = a.g + x
    return a.g * a.k[1]


@kernel
def _visit(b: Outer, n: int) -> float:
    total = _raise_gain(b, 1.0)  # a child serves where its parent is asked for
    for i in range(len(b.many)):
        total += _raise_gain(b.many[i], 1.0)
    b.inner.on = total > 5.0
    b.M[1, 1] = total
    b.deep[1, 1, 2] = 7.0
    b.marks[1] = 5
    b.count += n
    return total


def made() -> Outer:
    return Outer({"n": 2}, many=[Inner(), Inner(g=7.0, on=False)])


def test_compiled_code_reads_and_writes_every_kind_of_field_by_name():
    b = made()
    assert _visit(b, 3) == 3.0 * 2 + 3.0 * 2 + 8.0 * 2
    assert (b.g, b.many[0].g, b.many[1].g, b.count) == (3.0, 3.0, 8.0, 3)
    assert (b.M[1, 1], b.deep[1, 1, 2], b.marks[1], b.inner.on) == (28.0, 7.0, 5, True)
    assert _visit(b.address, 1) == 4.0 * 2 + 4.0 * 2 + 9.0 * 2  # from Python its address does as well


def test_numbers_written_in_python_are_seen_in_compiled_code():
    b = made()
    b.g, b.k[1], b.many[1].k[:] = 10.0, 0.5, 0.0
    assert _visit(b, 0) == 11.0 * 0.5 + 3.0 * 2 + 0.0
    with pytest.raises(InvalidInput, match="write into"):
        b.k = np.zeros(3)


def test_a_copy_and_a_pickle_share_nothing():
    b = made()
    for other in (b.copy(), pickle.loads(pickle.dumps(b))):
        other.g, other.M[0, 0], other.inner.k[0], other.many[0].g = 0.0, 5.0, 9.0, 4.0
        assert (b.g, b.M[0, 0], b.inner.k[0], b.many[0].g) == (2.0, 0.0, 1.0, 2.0)
        assert _visit(other, 0) == 1.0 * 2 + 5.0 * 2 + 8.0 * 2


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Outer(many=[]), "size 'n'"),
        (lambda: Inner(k=np.zeros(4)), r"k.*shape \(3,\), got \(4,\)"),
        (lambda: Inner(gg=1.0), "no field gg; it has k, g, on"),
        (lambda: Outer({"n": 2}, inner=3.0), "inner.*Inner"),
        (lambda: Needy(), "needs.*'must'"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(make, words):
    with pytest.raises(InvalidInput, match=words):
        make()


class Needy(Record):
    must: float


def test_a_field_of_the_parent_cannot_be_declared_again():
    with pytest.raises(InvalidInput, match=r"Other\.g.*field.*parent"):

        class Other(Inner):
            g: float = 3.0


def test_rows_and_records_agree_on_the_order_of_fields():
    sizes, row = {"n": 2}, np.arange(10.0)
    record = Pair.over(row, sizes)
    assert Pair.width(sizes) == 7
    np.testing.assert_array_equal(record.b, [[3, 4], [5, 6]])
    record.a[0] = -1.0
    assert row[0] == -1.0
    np.testing.assert_array_equal(Pair.columns(np.tile(row, (4, 1)), sizes)["a"], np.tile([-1.0, 1, 2], (4, 1)))


class Pair(Record):
    a: Vector = sized(3)
    b: Matrix = sized("n", "n")


def test_a_read_only_record_cannot_be_changed():
    seen = ReadOnly(made())
    assert (seen.g, seen.inner.g) == (2.0, 2.0)
    with pytest.raises(ValueError, match="read-only"):
        seen.k[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        seen.inner.k[0] = 1.0


class Answer(Record):
    x: Vector = sized(3)


@kernel
def _law(a: Inner, b: Inner, m: Outer, out: Answer) -> None:
    m.count += 1
    for i in range(3):
        out.x[i] = a.k[i] + b.g


@kernel
def _call(pointer: int, a: Inner, b: Inner, m: Outer, out: Answer) -> None:
    call_law(pointer, address_of_record(a), address_of_record(b), address_of_record(m), address_of_record(out))  # pyright: ignore


def test_a_law_is_called_through_its_address():
    m, out = made(), Answer()
    _call(_law.pointer, Inner(), Inner(g=5.0), m, out)
    np.testing.assert_array_equal(out.x, [6.0, 7.0, 8.0])
    assert m.count == 1


@kernel
def _mean(x: ReadVector, out: Vector) -> None:
    out[0] = (part(out, 1, 2)[1] + fold(out, 1, 2, 2)[1, 1] + x[0]) / 3.0


@kernel
def _fill(x: Matrix) -> None:
    flat(x)[5] = 1.0
    flat(x)[2] = 2.0


def test_parts_of_arrays_share_their_memory():
    out = np.arange(6.0)
    fixed = np.array([5.0])
    fixed.flags.writeable = False
    _mean(fixed, out)
    assert out[0] == (2.0 + 4.0 + 5.0) / 3.0
    x = np.zeros((2, 3))
    _fill(x)
    np.testing.assert_array_equal(x, [[0, 0, 2], [0, 0, 1]])


def test_a_kernel_refuses_what_it_does_not_take():
    with pytest.raises((InvalidInput, TypeError)):
        _mean(np.zeros(3))
    with pytest.raises((InvalidInput, TypeError)):
        _mean(np.zeros(3, dtype=np.float32), np.zeros(3))


@kernel
def _steps(p: Physics, n: int) -> float:
    for _ in range(n):
        mj_step(p.model, p.data)
    return p.time + p.xipos[1, 0]


def test_mujocos_arrays_go_by_their_own_names():
    text = '<mujoco><worldbody><body><joint axis="0 1 0"/><geom size=".1" pos="1 0 0"/></body></worldbody></mujoco>'
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    physics = Physics.of(model, data)
    assert _steps(physics, 10) == data.time + data.xipos[1, 0]
    assert (physics.nv, physics.time) == (1, data.time)
    physics.time = 3.0
    assert data.time == 3.0
    for name, field in Physics.fields.items():
        if getattr(field.kind, "dimensions", 0) and name not in ("gravity", "warning"):
            theirs = getattr(data if hasattr(data, name) else model, name)
            assert getattr(physics, name).size == theirs.size, name
            assert np.shares_memory(getattr(physics, name), theirs) or theirs.size == 0, name
