"""The memory of a state: whether it is one, and how it is laid down; codes as numbers."""

from __future__ import annotations

from palpate.engine.kernels import address_of_record, kernel
from palpate.tools.exporting.code.memory import address_after, words_at
from palpate.tools.exporting.code.records import MAGIC, STATE_HEAD, Code, PlanHead

# As `Code` has them, in its order.
OK, NULL, SIZE, VERSION, NOT_READY, NOT_FINITE, TIME, LATE, QUATERNION, NO_ANSWER, READ_ONLY, BOUND, LAW, BLIND = (
    int(code) for code in list(Code)[:14]
)
EARLY, INTERVAL, JOINT_JUMP, TARGET_JUMP, JOINT_RANGE, JOINT_SPEED, STOPPED, NO_POSTURE = (
    int(code) for code in list(Code)[14:]
)


@kernel
def check_state(state: int, plan: PlanHead) -> int:
    """Whether memory is a state of this library."""
    if state == 0:
        return NULL
    head = words_at(state, 0, STATE_HEAD)
    return OK if head[0] == MAGIC + plan.version and head[1] == plan.state_bytes else NOT_READY


@kernel
def copy_image(state: int, plan: PlanHead, first: int, last: int) -> None:
    """Copy the image into a state, but for the words from `first` to before `last`; offsets become addresses."""
    words, data = words_at(state, 0, plan.image_words), address_of_record(plan)  # pyright: ignore[reportCallIssue]
    image, addresses = words_at(data, plan.image, plan.image_words), words_at(data, plan.addresses, plan.address_count)
    for k in range(STATE_HEAD, plan.image_words):
        if k < first or k >= last:
            words[k] = image[k]
    for k in range(addresses.size):
        at = addresses[k]
        if at < first or at >= last:
            words[at] = address_after(state, image[at])
