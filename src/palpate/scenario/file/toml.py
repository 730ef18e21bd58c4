"""A scenario's data as TOML text: see `palpate.toml`."""

from palpate.toml import toml_text, toml_value

__all__ = ["toml_text", "toml_value"]
