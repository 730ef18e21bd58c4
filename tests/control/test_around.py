"""The hook around any law, with something simple: it counts ticks and halves the command."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

import palpate as pp
from palpate.config import setting
from palpate.control.around import Around, Surroundings
from palpate.control.law import PythonLaw, Tick
from palpate.control.shown import Shown
from palpate.engine.carried import carried_memory
from palpate.engine.kernels import kernel
from palpate.engine.records import Kept, Record, Vector
from palpate.run.assemble.assemble import assemble
from palpate.run.build import build


class Half(Record):
    """How much of the command is let through."""

    share: float = 1.0


class Count(Record):
    """Ticks."""

    ticks: Kept[float] = 0.0


@kernel
def _before(x: Tick, k: Half, m: Count) -> None:
    m.ticks += 1.0


@kernel
def _after(x: Tick, k: Half, m: Count, command: Vector, change: Vector) -> None:
    for i in range(change.size):
        change[i] = (k.share - 1.0) * command[i]


class Halved(Around):
    """Lets a share of the command through."""

    before: ClassVar = _before
    after: ClassVar = _after

    share: float = setting(0.5, "1", "of the command")

    def settings(self, around: Surroundings) -> Half:
        """The share."""
        return Half(share=self.share)

    def shows(self, around: Surroundings) -> tuple[Shown, ...]:
        """The count."""
        return (Shown("half.ticks", "ticks"),)

    def remarks(self, memory: Any) -> list[str]:
        """The count in words."""
        return [f"half: {memory.ticks:g} ticks"]


def short(name: str = "panda-joint-impedance") -> pp.Run:
    return build(pp.load_scenario(name).replace(run__duration=0.05, metrics=None))


@pytest.mark.parametrize("name", ["panda-joint-impedance", "panda-wall", "panda-priorities", "ur5e-admittance"])
def test_a_share_of_any_laws_command_is_carried_out(name: str) -> None:
    run = short(name)
    trace = pp.simulate(replace(run, around=Halved(share=0.75)))
    terms = sum(trace[name] for name in trace if name.startswith("tau.") and name not in ("tau.change", "tau.friction"))
    assert trace["tau.change"] == pytest.approx(-0.25 * terms, abs=1e-12)
    friction = sum(trace[name] for name in trace if name == "tau.friction")  # which the loop adds
    assert trace["command"] == pytest.approx(0.75 * terms + friction, abs=1e-12)
    assert trace["half.ticks"][-1] == run.clock.steps // run.clock.ratio + 1
    assert any("half:" in remark for remark in trace.facts.remarks)


def test_the_whole_command_keeps_its_bits() -> None:
    run = short()
    plain, whole = pp.simulate(run), pp.simulate(replace(run, around=Halved(share=1.0)))
    assert plain["tau"].tobytes() == whole["tau"].tobytes()


def test_a_law_in_plain_python_is_surrounded_alike() -> None:
    law = PythonLaw(lambda tick, gains, memory: {"torque": np.array(tick.bias)})
    trace = pp.simulate(replace(short(), law=law, around=Halved(share=0.5)))
    assert trace["tau.change"] == pytest.approx(-0.5 * trace["tau.torque"])


def test_memories_of_law_and_surroundings_are_both_carried() -> None:
    run = short("ur5e-admittance")
    plain = {field.path for field in carried_memory(assemble(run).law.memory, "law")}
    both = {field.path for field in carried_memory(assemble(replace(run, around=Halved())).law.memory, "law")}
    assert both - plain == {"law.around.ticks"}
    assert plain <= both


def test_what_is_no_surrounding_is_refused() -> None:
    with pytest.raises(pp.errors.InvalidInput, match="around"):
        replace(short(), around=3)  # pyright: ignore[reportArgumentType]
