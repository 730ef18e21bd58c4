"""Tools on top of the core: each folder is one, and can be taken away. See `palpate.toolbox`."""
