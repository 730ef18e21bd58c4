"""An exported law at work, as its compiled code sees it, and the plan by which C memory becomes one."""

from __future__ import annotations

from enum import IntEnum

from palpate.control.guards import GuardMemory, GuardSettings
from palpate.control.tick import Tick
from palpate.engine.records import Matrix, Record, Vector, sized
from palpate.tools.exporting.code.protection import Ending, Protection
from palpate.tools.exporting.code.tuning import GainEase

MAGIC = 0x70616C70  # the first word of a state is this and its version


class Code(IntEnum):
    """Return codes of the C functions, with their meaning."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> Code:
        code = int.__new__(cls, value)
        code._value_, code.meaning = value, meaning
        return code

    OK = 0, "done"
    NULL = 1, "a pointer is null"
    SIZE = 2, "`bytes` is not the size that this header states"
    VERSION = 3, "`version` is not this header's"
    NOT_READY = 4, "the state was not made by init, or by another version's"
    NOT_FINITE = 5, "a number of the input is NaN or infinite"
    TIME = 6, "`t` is not later than the last tick's"
    LATE = 7, "more than LATEST periods since the last tick: call reset"
    QUATERNION = 8, "a quaternion's norm differs from 1 by more than 1e-6"
    NO_ANSWER = 9, "the law's terms are not finite"
    READ_ONLY = 10, "a gain was changed that others are derived from: export anew with --set"
    BOUND = 11, "a gain is not finite or beyond its bounds"
    LAW = 12, "the law's code ended with an error"
    BLIND = 13, "the measured wrench is not usable"
    EARLY = 14, "less than a quarter of a period since the last tick"
    INTERVAL = 15, "the mean interval of the ticks is more than 25 % off the period"
    JOINT_JUMP = 16, "q moved farther than the joints can in that time"
    TARGET_JUMP = 17, "the target jumped"
    JOINT_RANGE = 18, "a joint is beyond its range, or too fast to stop before its end"
    JOINT_SPEED = 19, "a joint is faster than 1.1 times its rated speed"
    STOPPED = 20, "stop was called"
    NO_POSTURE = 21, "no usable q since init or reset: gravity is not known and not held, keep the brakes closed"


class PlanHead(Record):
    """The head of the plan, constant data beside the code; where something stands is counted in words of 8 bytes."""

    version: int = 0
    state_bytes: int = 0
    station: int = 0  # in the state
    image: int = 0  # in the plan
    image_words: int = 0
    addresses: int = 0  # in the plan: the image's words that hold offsets of its own
    address_count: int = 0
    gains: int = 0  # in the plan: parts
    gains_count: int = 0
    gains_bytes: int = 0
    memory: int = 0
    memory_count: int = 0
    memory_bytes: int = 0
    kept_first: int = 0  # words of the state that reset leaves: the gains
    kept_last: int = 0
    input_bytes: int = 0
    output_bytes: int = 0
    law: int = 0  # in the state: the address of the law's code
    model: int = 0  # of the code that fills the tick's terms
    model_terms: int = 0  # of the derived program's functions
    model_frame: int = 0
    model_constants: int = 0


class PartPlan(Record):
    """A number or an array of a record of the state: where, how many, how C may change it, within which bounds."""

    word: int
    count: int
    free: int
    low: float
    high: float


STATE_HEAD, INPUT_HEAD, OUTPUT_HEAD = 2, 2, 3  # words before the numbers


class Station(Record):
    """An exported law at work; `input` holds the numbers that C gives, in the header's order: the tick's arrays."""

    period: float
    dt: float  # of the loop's physics, in which a servo's position is integrated
    ratio: int
    kind: int  # of command
    latest: float  # periods
    tick: Tick
    input: Vector
    law: int = 0  # addresses: its code, then its records
    gains: int = 0
    memory: int = 0
    terms: int = 0
    model: int = 0  # code that fills the tick's terms of the model; 0 where they are given
    own: int = 0  # its record
    rows: Matrix  # the terms
    quaternion: int  # where target.quat_wxyz stands in the input; −1 if it does not
    pole: int  # where rated, fresh and age of the pole's view stand in the input; −1 without one
    shows_gravity: bool
    command: Vector = sized("nv")
    torque: Vector = sized("nv")
    set_q: Vector = sized("nv")
    set_v: Vector = sized("nv")
    guard: GuardSettings
    guard_memory: GuardMemory
    protection: Protection
    ending: Ending
    ease: GainEase
    setup: int = 0  # address; 0 where the model is given
    taking: int = 0  # how the target is taken, see `tuning`
    target_first: int = 0  # of its numbers in the input
    target_last: int = 0
    held: Vector  # target that is held, or was, as the input has it
    told: Vector  # input of the last tick as it was given
    follow: float = 0.0  # s
    follow_start: float = -1.0
    limited: int = 0  # bits of the limits at work
    target_q: int = -1  # where they stand in the input; −1 if they do not
    target_position: int = -1
    count: int = 0
    last: float = 0.0  # s, of the last good tick
    missed: int = 0
    blend: float = 0.0  # s
    blend_start: float = 0.0
    tau_start: Vector = sized("nv")
