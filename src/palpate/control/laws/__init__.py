"""One file per law, named like it; every file here is a law of `palpate.control.LAWS`."""
