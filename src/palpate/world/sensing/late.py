"""What arrives late: measurements and commands."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from palpate.config import Config, setting
from palpate.errors import InvalidInput


class Late(Config):
    """Something that arrives late: by samples or by seconds, not both."""

    delay: int = setting(0, "samples", "control periods until it arrives", ge=0, le=1000)
    delay_time: float | None = setting(None, "s", "or how long, a whole number of control periods", ge=0)

    @model_validator(mode="after")
    def _one_delay(self) -> Self:
        if self.delay_time is not None and self.delay != 0:
            raise InvalidInput("a delay is given by delay (samples) or by delay_time (s), not both")
        return self

    def in_samples(self, period: float) -> Self:
        """The same with its delay in control periods, s.

        Raises:
            InvalidInput: the delay is no whole number of them, or of more than 1000.
        """
        if self.delay_time is None:
            return self
        count = round(self.delay_time / period)
        if abs(count * period - self.delay_time) > 1e-9 * max(self.delay_time, period):
            raise InvalidInput(
                f"a delay_time of {self.delay_time:g} s is no whole number of control periods of {period:g} s",
                hint=f"the nearest is {count * period:g} s; or shorten the control period",
            )
        if count > 1000:
            raise InvalidInput(
                f"a delay_time of {self.delay_time:g} s is {count} control periods, at most 1000 are kept"
            )
        return self.model_copy(update={"delay": count, "delay_time": None})
