"""Typed settings: every field carries its unit, its bounds and one line of help; unknown keys are refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Self, dataclass_transform

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo

from palpate.errors import InvalidInput, UnknownName, nearest, shortened, value_text
from palpate.forking import cached_property

if TYPE_CHECKING:  # what may be given, lists as well as tuples, and what a checker knows of pydantic's classes
    from pydantic._internal._model_construction import ModelMetaclass as _ModelMeta

    Vector3 = Sequence[float]
    Vector6 = Sequence[float]
    Quaternion = Sequence[float]
    PerJoint = float | Sequence[float]
else:  # what the fields hold
    _ModelMeta = type(BaseModel)
    Vector3 = Annotated[tuple[float, float, float], "three numbers"]
    Vector6 = Annotated[tuple[float, float, float, float, float, float], "six numbers"]
    Quaternion = Annotated[tuple[float, float, float, float], "quaternion wxyz"]
    PerJoint = float | tuple[float, ...]
MOST_SENSOR_VALUES = 32  # numbers of all custom sensors that a law can see


# Keys that went elsewhere, and where.
MOVED = {
    "actuators": "world.actuators is now world.driver, with the same keys (rotor_inertia is world.plant.rotor_inertia)",
    "rotor_inertia": "the inertia of the rotors is world.plant.rotor_inertia",
    "fault": "faults of sensors are a list now: world.faults, with `what` and `at`",
    "fault_start": "faults of sensors are a list now: world.faults, with `what` and `at`",
}
_MOST = 10  # problems told one by one


def setting(default: Any, unit: str, help: str, **bounds: Any) -> Any:
    """A field with its unit ("1" where it has none) and help; bounds are pydantic's gt, ge, lt, le, min_length…"""
    return Field(default, description=help, json_schema_extra={"unit": unit}, **bounds)


def required(unit: str, help: str, **bounds: Any) -> Any:
    """As `setting`, without a default."""
    return setting(..., unit, help, **bounds)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(required,))
class _Refusing(_ModelMeta):
    """Turns pydantic's complaint about a settings object made in Python into one of the house's own.

    Only the call of the class is wrapped: while a scenario file is validated, the parts keep pydantic's errors, with
    the path of each key.
    """

    if not TYPE_CHECKING:  # type checkers take the arguments of a class from its fields, unless they see this

        def __call__(self, *args: Any, **values: Any) -> Any:
            try:
                return super().__call__(*args, **values)
            except ValidationError as error:
                raise InvalidInput(_complaint(self, error)) from None


def _complaint(cls: Any, error: ValidationError) -> str:
    lines = []
    problems = error.errors(include_url=False)
    for problem in problems[:_MOST]:
        path = ".".join(shortened(str(part)) for part in problem["loc"])
        near = nearest(path, cls.model_fields) if problem["type"] == "extra_forbidden" else []
        guess = f" (did you mean {near[0]!r}?)" if near else ""
        if problem["type"] == "extra_forbidden" and path in MOVED:
            guess = f" ({MOVED[path]})"
        self_explanatory = problem["type"] in ("missing", "extra_forbidden", "value_error")
        received = "" if self_explanatory else f", got {value_text(problem['input'])}"
        text = problem["msg"].removeprefix("Value error, ")
        lines.append((f"{path}: " if path else "") + text + received + guess)
    more = f"; and {len(problems) - _MOST} more" if len(problems) > _MOST else ""
    return f"{cls.__name__}: " + "; ".join(lines) + more


class Config(BaseModel, metaclass=_Refusing):
    """Base of every settings class: frozen, no unknown keys, no NaN or infinity."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True, ignored_types=(cached_property,)
    )

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """As pydantic's, its complaint as one of the house's own."""
        try:
            return super().model_validate(obj, **options)
        except ValidationError as error:
            raise InvalidInput(_complaint(cls, error)) from None

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:
        """As pydantic's, its complaint as one of the house's own."""
        try:
            return super().model_validate_json(json_data, **options)
        except ValidationError as error:
            raise InvalidInput(_complaint(cls, error)) from None

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with some values changed, which are checked as those of a new object are."""
        if not update:
            return super().model_copy(deep=deep)
        return type(self)(
            **{name: getattr(self, name) for name in type(self).model_fields if name not in update}, **update
        )

    def __setattr__(self, name: str, value: Any) -> None:
        if name in type(self).model_fields:
            raise InvalidInput(
                f"{type(self).__name__}.{name} cannot be changed",
                hint=f"make another: .model_copy(update={{{name!r}: …}})",
            )
        super().__setattr__(name, value)


def tagged(value: Any, key: str, known: Any) -> tuple[str, dict[str, Any]]:
    """The tag of a table whose fields depend on it, and the rest of the table."""
    if not isinstance(value, dict):
        raise InvalidInput(f"a table with the key {key!r} is needed, got {value_text(value)}")
    if key not in value:
        listed = ", ".join(known)
        raise InvalidInput(f"the key {key!r} is missing" + (f"; one of {listed}" if listed else "; module:Class"))
    if not isinstance(value[key], str) or value[key] not in known:
        unknown = UnknownName(key, str(value[key]), known)
        raise InvalidInput(unknown.args[0], hint=unknown.hint)  # pydantic collects errors of values only
    return value[key], {name: item for name, item in value.items() if name != key}


def typed(cls: type[Any], value: dict[str, Any], info: ValidationInfo) -> Any:
    """A table as settings of a class; from a file 1 is a number and "1" is not."""
    if info.mode == "json":
        return cls.__pydantic_validator__.validate_json(json.dumps(value), strict=True)
    return cls.__pydantic_validator__.validate_python(value)
