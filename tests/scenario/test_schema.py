"""The JSON Schema: complete, and true to the shipped scenarios."""

from __future__ import annotations

from typing import Any

from palpate.control import LAWS
from palpate.control.references import REFERENCES
from palpate.metrics import METRICS
from palpate.scenario.model import Scenario, law_class
from palpate.scenario.schema import json_schema


def references_in(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*(references_in(item) for item in value.values()))
    return set().union(*(references_in(item) for item in value)) if isinstance(value, list) else set()


def test_every_section_law_kind_and_metric_is_there() -> None:
    schema = json_schema()
    assert set(schema["properties"]) == set(Scenario.model_fields)
    definitions = schema["$defs"]
    for law in LAWS:
        assert set(definitions[f"law:{law}"]["properties"]) == {"law", *law_class(law).model_fields}
        assert definitions[f"law:{law}"]["properties"]["law"] == {"const": law}
    assert {f"kind:{kind}" for kind in REFERENCES} <= set(definitions)
    assert schema["properties"]["metrics"]["propertyNames"]["enum"] == sorted(METRICS)


def test_every_reference_inside_leads_somewhere() -> None:
    schema = json_schema()
    for reference in references_in(schema):
        assert reference.removeprefix("#/$defs/") in schema["$defs"]


def test_unknown_keys_are_forbidden_and_units_are_given() -> None:
    schema = json_schema()
    surface = schema["$defs"]["Surface"]
    assert surface["additionalProperties"] is False
    assert surface["properties"]["stiffness"]["unit"] == "N/m"
    assert schema["$defs"]["law:cartesian-impedance"]["additionalProperties"] is False
