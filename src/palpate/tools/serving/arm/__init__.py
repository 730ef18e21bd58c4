"""The served arm: its measurements, its limits, its own controllers and motions."""
