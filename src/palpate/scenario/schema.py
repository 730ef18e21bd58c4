"""The scenario's JSON Schema, for editors."""

from __future__ import annotations

from typing import Any

from palpate.metrics import METRICS
from palpate.scenario.fields import TAGGED
from palpate.scenario.model import Scenario
from palpate.toolbox import around_class, around_sections

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """Everything a scenario file may hold: every law with its gains, every kind of reference, every metric."""
    schema = Scenario.model_json_schema()
    definitions: dict[str, Any] = schema.setdefault("$defs", {})
    properties = schema["properties"]
    for section, (tag, names, class_of) in TAGGED.items():
        choices = [_choice(class_of(name), tag, name, definitions) for name in names]
        properties[section] = {"description": properties[section].get("description", ""), "oneOf": choices}
    for section in around_sections():
        own = around_class(section).model_json_schema(ref_template="#/$defs/{model}")
        definitions.update(own.pop("$defs", {}))
        properties[section] = {"description": properties[section].get("description", ""), **own}
    properties["metrics"]["propertyNames"] = {"enum": sorted(METRICS)}
    # What a file extends may give the rest.
    schema["required"] = ["name"]
    return {"$schema": DIALECT, **schema, "title": "palpate scenario"}


def _choice(cls: Any, tag: str, name: str, definitions: dict[str, Any]) -> dict[str, Any]:
    schema = cls.model_json_schema(ref_template="#/$defs/{model}")
    definitions.update(schema.pop("$defs", {}))
    schema["properties"] = {tag: {"const": name}, **{k: v for k, v in schema["properties"].items() if k != tag}}
    schema["required"] = sorted({*schema.get("required", ()), tag})
    definitions[f"{tag}:{name}"] = schema
    return {"$ref": f"#/$defs/{tag}:{name}"}
