"""Observations of a finished run: contact, energies, bounds, and the wrench sensor."""
