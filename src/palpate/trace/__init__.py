"""The record of a run, and its file."""

from palpate.trace.channel import Channel
from palpate.trace.facts import RunFacts
from palpate.trace.load import load_trace
from palpate.trace.outcome import Event, Outcome
from palpate.trace.recording import Recording, StopWhen
from palpate.trace.trace import Trace, named_channels

__all__ = ["Channel", "Event", "Outcome", "Recording", "RunFacts", "StopWhen", "Trace", "load_trace", "named_channels"]
