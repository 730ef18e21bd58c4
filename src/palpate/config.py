"""Typed settings: every field carries its unit, its bounds and one line of help; unknown keys are refused."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Vector3 = Annotated[tuple[float, float, float], "three numbers"]
Vector6 = Annotated[tuple[float, float, float, float, float, float], "six numbers"]
Quaternion = Annotated[tuple[float, float, float, float], "quaternion wxyz"]
PerJoint = float | tuple[float, ...]


class Config(BaseModel):
    """Base of every settings class: frozen, no unknown keys, no NaN or infinity."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True)


def setting(default: Any, unit: str, help: str, **bounds: Any) -> Any:
    """A field with its unit ("1" where it has none) and help; bounds are pydantic's gt, ge, lt, le, min_length…"""
    return Field(default, description=help, json_schema_extra={"unit": unit}, **bounds)


def required(unit: str, help: str, **bounds: Any) -> Any:
    """As `setting`, without a default."""
    return setting(..., unit, help, **bounds)
