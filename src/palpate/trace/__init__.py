"""The record of a run, and its file."""

from palpate.trace.channel import Channel
from palpate.trace.load import load_trace
from palpate.trace.outcome import Event, Outcome
from palpate.trace.recording import Recording
from palpate.trace.trace import Trace

__all__ = ["Channel", "Event", "Outcome", "Recording", "Trace", "load_trace"]
