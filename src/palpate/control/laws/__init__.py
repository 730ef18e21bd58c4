"""One file per law of `palpate list laws`, named like it; `palpate.control.LAWS` lists them."""
