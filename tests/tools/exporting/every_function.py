"""A law whose terms are every function of `engine.maths`, at arguments that the target gives."""

from __future__ import annotations

import math
from typing import ClassVar

from palpate.control.law import Law, NoMemory, Tick, law_kernel
from palpate.engine import maths
from palpate.engine.kernels import kernel
from palpate.engine.records import Record, Vector, sized
from palpate.robot.robot import Robot


class Terms(Record):
    """One term for each function."""

    sin: Vector = sized("nv")
    cos: Vector = sized("nv")
    exp: Vector = sized("nv")
    log: Vector = sized("nv")
    power: Vector = sized("nv")
    sinh: Vector = sized("nv")
    cosh: Vector = sized("nv")
    hypot: Vector = sized("nv")
    atan2: Vector = sized("nv")
    sqrt: Vector = sized("nv")


@kernel
def _finite(x: float) -> float:
    """1, 2 and 3 in place of inf, −inf and NaN, which a law must not answer."""
    if math.isfinite(x):
        return x
    return 3.0 if x != x else (1.0 if x > 0.0 else 2.0)


@law_kernel
def _kernel(x: Tick, k: NoMemory, m: NoMemory, out: Terms) -> None:
    for i in range(x.q.size):
        a, b = x.target.q[i], x.target.v[i]
        both = maths.sin_cos(b)
        out.sin[i] = _finite(maths.sin(a)) + _finite(both[0])
        out.cos[i] = _finite(maths.cos(a)) + _finite(both[1])
        out.exp[i] = _finite(maths.exp(a))
        out.log[i] = _finite(maths.log(a))
        out.power[i] = _finite(maths.power(a, b))
        out.sinh[i] = _finite(maths.sinh(a))
        out.cosh[i] = _finite(maths.cosh(a))
        out.hypot[i] = _finite(maths.hypot(a, b))
        out.atan2[i] = _finite(maths.atan2(a, b))
        out.sqrt[i] = _finite(math.sqrt(abs(a)))


class EveryFunction(Law):
    """Every mathematical function of `engine.maths`."""

    name: ClassVar[str] = "every-function"
    memoryless: ClassVar[bool] = True
    kernel = _kernel

    def gains(self, robot: Robot) -> NoMemory:
        """None."""
        return NoMemory()


class Drift(Record):
    """J̇ v of the first direction."""

    drift: Vector = sized("nv")


@law_kernel
def _rate_kernel(x: Tick, k: NoMemory, m: NoMemory, out: Drift) -> None:
    for i in range(x.q.size):
        out.drift[i] = x.J_rate[0, i] * x.v[i]


class ReadsJacobianRate(Law):
    """τ = J̇₁ v, joint by joint: for what an exported model does not compute."""

    name: ClassVar[str] = "reads-jacobian-rate"
    memoryless: ClassVar[bool] = True
    kernel = _rate_kernel

    def gains(self, robot: Robot) -> NoMemory:
        """None."""
        return NoMemory()
