"""Motion from event to event."""
