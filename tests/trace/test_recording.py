from __future__ import annotations

import pytest

from palpate.errors import InvalidInput, UnknownName
from palpate.trace import Channel, Recording
from palpate.trace.channel import TIME

OFFERED = (Channel("q", "rad", (2,)), Channel("v", "rad/s", (2,)), Channel("tau.spring", "N·m", (2,)))


def test_all_channels_are_recorded_at_every_tick_unless_told_otherwise():
    assert Recording().choose(OFFERED) == OFFERED
    assert Recording().stride == 1


def test_chosen_channels_come_in_the_order_offered():
    assert Recording(("tau.spring", "q", "q")).choose(OFFERED) == (OFFERED[0], OFFERED[2])


def test_time_is_always_recorded_whether_named_or_not():
    assert Recording(("time",)).choose(OFFERED) == ()
    assert Recording().choose((TIME, *OFFERED)) == OFFERED


def test_an_unknown_channel_names_the_nearest():
    with pytest.raises(UnknownName, match=r"unknown channel 'tau.sprng'.*\n.*mean 'tau\.spring'"):
        Recording(("tau.sprng",)).choose(OFFERED)


def test_a_bare_name_is_refused_with_the_way_to_write_it():
    with pytest.raises(InvalidInput, match=r"write \('q',\)"):
        Recording("q")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInput, match=r'channels.*"all".*tuple'):
        Recording(None)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("stride", [0, -1, 1.5])
def test_a_stride_is_a_whole_number_from_one(stride: int):
    with pytest.raises(InvalidInput, match="recording stride"):
        Recording(stride=stride)
