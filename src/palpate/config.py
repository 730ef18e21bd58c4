"""Typed settings: every field carries its unit, its bounds and one line of help; unknown keys are refused."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from palpate.errors import InvalidInput, nearest

Vector3 = Annotated[tuple[float, float, float], "three numbers"]
Vector6 = Annotated[tuple[float, float, float, float, float, float], "six numbers"]
Quaternion = Annotated[tuple[float, float, float, float], "quaternion wxyz"]
PerJoint = float | tuple[float, ...]


_ModelMeta: Any = type(BaseModel)


class _Refusing(_ModelMeta):
    """Turns pydantic's complaint about a settings object made in Python into one of the house's own.

    Only the call of the class is wrapped: while a scenario file is validated, the parts keep pydantic's errors, with
    the path of each key.
    """

    def __call__(self, *args: Any, **values: Any) -> Any:
        try:
            return super().__call__(*args, **values)
        except ValidationError as error:
            raise InvalidInput(_complaint(self, error)) from None


def _complaint(cls: Any, error: ValidationError) -> str:
    lines = []
    for problem in error.errors(include_url=False):
        path = ".".join(str(part) for part in problem["loc"])
        near = nearest(path, cls.model_fields) if problem["type"] == "extra_forbidden" else []
        guess = f" (did you mean {near[0]!r}?)" if near else ""
        told = problem["type"] in ("missing", "extra_forbidden", "value_error")
        found = "" if told else f", got {problem['input']!r}"
        text = problem["msg"].removeprefix("Value error, ")
        lines.append((f"{path}: " if path else "") + text + found + guess)
    return f"{cls.__name__}: " + "; ".join(lines)


class Config(BaseModel, metaclass=_Refusing):
    """Base of every settings class: frozen, no unknown keys, no NaN or infinity."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True)


def setting(default: Any, unit: str, help: str, **bounds: Any) -> Any:
    """A field with its unit ("1" where it has none) and help; bounds are pydantic's gt, ge, lt, le, min_length…"""
    return Field(default, description=help, json_schema_extra={"unit": unit}, **bounds)


def required(unit: str, help: str, **bounds: Any) -> Any:
    """As `setting`, without a default."""
    return setting(..., unit, help, **bounds)
