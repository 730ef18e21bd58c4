"""A scenario that is run again for every move of a slider: what the page asks for, and what it is told.

The page keeps its own state (the law's table and the settings that were moved) and sends it whole with every request,
so that several pages, a page that is loaded again and one that was cut off for a while need nothing of each other.
Robot and scene are built once for a page and changed in place where only numbers differ (`run.prepared`).
"""

from __future__ import annotations

import shlex
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from palpate.control import LAWS
from palpate.errors import InvalidInput, PalpateError, UnknownName, check_names
from palpate.metrics import METRICS, evaluate
from palpate.metrics.table import judge
from palpate.one_thread import one_thread
from palpate.run.assemble.assemble import Assembly
from palpate.run.prepared import Prepared
from palpate.run.simulate import execute_bare, simulate_quietly
from palpate.run.tangent.along import Moment, poles_along
from palpate.run.tangent.loop_poles import poles_here, window
from palpate.scenario.fields import tagged_settings
from palpate.scenario.file.load import scenario_from_data
from palpate.scenario.file.overrides import apply_overrides
from palpate.scenario.file.swap import swap_law_in_data
from palpate.scenario.model import Scenario
from palpate.toml import toml_value
from palpate.tools.play.drawing import Drawing
from palpate.tools.play.edges import Judged, nearest_edge
from palpate.tools.play.forecast import forecast, headline, worst
from palpate.tools.play.sliders import Slider, first_sliders, sliders_of
from palpate.trace import Trace
from palpate.views.summary import main_metrics

MOST_PAGES = 6  # whose assemblies are kept; that of the page that has rested longest is let go
POLES_SHARE = 1.0  # of the CPU time of runs that poles may take while a slider is moved
LONGEST_MAP = 100  # control ticks of the loop's map; of a longer one only the end is asked
_LONG = 2000  # characters of a text that a page may send as a value


@dataclass
class State:
    """The law and settings that a page asks for.

    Attributes:
        control: the law's table instead of the scenario's own; None for that.
        settings: values by key, those that were moved.
    """

    control: dict[str, Any] | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, asked: Mapping[str, Any]) -> State:
        """The state in a request.

        Raises:
            InvalidInput: it is no state.
        """
        control, settings = asked.get("control"), asked.get("settings") or {}
        if not (control is None or isinstance(control, dict)) or not isinstance(settings, dict):
            raise InvalidInput("a page sends `control` and `settings` as tables")
        return cls(control, settings)


@dataclass
class _Page:
    """Data kept for a page.

    Attributes:
        prepared: its assembly.
        drawing: of that assembly.
        latest: number of its last request.
        moments: poles that were found last.
        cost: CPU time that they took, s.
        saved: CPU time that may go to poles, s: a share of what runs have taken since.
    """

    prepared: Prepared
    drawing: Drawing | None = None
    latest: int = 0
    moments: list[Moment] = field(default_factory=list)
    cost: float = 0.0
    saved: float = 0.0


class Session:
    """The runs of all pages of one scenario, one after the other.

    Attributes:
        scenario: as it was loaded, with its code.
        named: how the scenario is called in a command.
        data: of the scenario, defaults included.
    """

    def __init__(self, scenario: Scenario, named: str | None = None, words: tuple[str, ...] = ()) -> None:
        """Begin with a scenario; `words` are further words of the command that loads it."""
        self.scenario, self.named, self._words = scenario, named or scenario.name, words
        self.data = scenario.as_data()
        self._pages: OrderedDict[str, _Page] = OrderedDict()
        self._last: tuple[dict[str, Any], dict[str, Slider]] | None = None
        self._lock, self._waiting = threading.Lock(), threading.Lock()
        self.closed = False

    # What the page is told.

    def offered(self, state: State) -> dict[str, Any]:
        """Sliders, those shown at first, laws and figures under a state's law."""
        data = self._under_law(state)
        sliders = self._sliders(data)
        return {
            "sliders": [one.as_data() for one in sliders.values()],
            "first": first_sliders(data, sliders),
            "law": data["control"]["law"],
            "laws": self.laws,
        }

    @property
    def laws(self) -> list[str]:
        """The laws that a page may choose: the scenario's own first where it brings it along."""
        own = self.data["control"]["law"]
        return list(LAWS) if own in list(LAWS) else [own, *LAWS]

    def swapped(self, state: State, law: str) -> dict[str, Any]:
        """The state under another law, what it takes over and drops, and its sliders."""
        check_names("law", [law], self.laws)
        now = self.data_of(state)
        told = {*self._told(state), *(key.split(".")[1] for key in state.settings if key.startswith("control."))}
        data, swap = swap_law_in_data(now, law, told)
        kept = {key: value for key, value in state.settings.items() if not key.startswith("control.")}
        after = State(data["control"], kept)
        names = {"taken": tuple(swap.taken), "dropped": tuple(swap.dropped), "chosen": swap.defaults}
        return {"control": after.control, "settings": kept, "said": swap.names_sentence, **names,
                **self.offered(after)}  # fmt: skip

    def _told(self, state: State) -> set[str]:
        """The settings of the law that are not its defaults."""
        if state.control is not None:
            return {key for key in state.control if key != "law"}
        return set(self.scenario.changed()["control"]) - {"law"}

    def data_of(self, state: State) -> dict[str, Any]:
        """The scenario's data in a state; only what has a slider may be set.

        Raises:
            PalpateError: the law or a key is unknown, or a value is none.
        """
        return apply_overrides(self._under_law(state), self._overrides(state))

    def _under_law(self, state: State) -> dict[str, Any]:
        """The scenario's data with the law of a state, before its settings."""
        if state.control is None:
            return self.data
        check_names("law", [str(state.control.get("law"))], self.laws)
        return {**self.data, "control": state.control}

    def _sliders(self, data: dict[str, Any]) -> dict[str, Slider]:
        """Sliders of the scenario's data under a law; those of the last law are kept."""
        if self._last is None or self._last[0] != data["control"]:
            self._last = data["control"], sliders_of(data)
        return self._last[1]

    def _overrides(self, state: State) -> list[str]:
        """The settings of a state as texts that `--set` takes."""
        if not state.settings:
            return []
        offered = self._sliders(self._under_law(state))
        for key, value in state.settings.items():
            if key not in offered:
                raise UnknownName("slider", key, offered)
            _check_value(key, value)
        return [f"{key}={toml_value(_typed(offered[key], value))}" for key, value in state.settings.items()]

    def command(self, state: State) -> str:
        """The command that makes the same run."""
        texts = [*self._of_law(state), *self._overrides(state)]
        words = ["palpate", "run", self.named, *self._words, *(word for text in texts for word in ("--set", text))]
        return shlex.join(words)

    def _of_law(self, state: State) -> list[str]:
        """The law of a state and its settings that are not defaults, as texts that `--set` takes."""
        if state.control is None:
            return []
        law, defaults = state.control["law"], tagged_settings("control", state.control["law"])
        given = {key: value for key, value in state.control.items() if key != "law" and key in defaults}
        given = {key: value for key, value in given.items() if value != _plain(defaults[key].default)}
        return [f"control.law={law}", *(f"control.{key}={toml_value(value)}" for key, value in given.items())]

    # Runs.

    def update(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Run a state, and say what a page shows of it.

        Args:
            asked: `page`, a name that tells pages apart; `number`, rising; `control` and `settings`; `scene`, the
                number of the scene that it has; `figure`, the second plot; `resting`, whether there is time for the
                poles at every moment of the run.

        Returns:
            What the page draws, or `superseded` where a later request of the same page came before the run was over.

        Raises:
            PalpateError: the state is refused.
        """
        state, began = State.read(asked), time.thread_time()
        page = self._page(str(asked.get("page", ""))[:_LONG], int(asked.get("number", 0)))
        data = self.data_of(state)
        number = page.latest
        with self._lock, one_thread():
            answer = self._run(page, data, asked, number) if page.latest == number else None
        if answer is None:
            return {"superseded": True}
        answer["command"] = self.command(state)
        answer["cpu"]["update"] = time.thread_time() - began
        return answer

    def warm_up(self) -> None:
        """Make the first run, so that what is compiled or refused is so before a page is served.

        Raises:
            PalpateError: the scenario is refused.
        """
        self.update({"page": "", "resting": True})

    def _page(self, name: str, number: int) -> _Page:
        with self._waiting:
            page = self._pages.setdefault(name, _Page(Prepared(self.data)))
            page.latest = max(page.latest, number)
            self._pages.move_to_end(name)
            while len(self._pages) > MOST_PAGES:
                self._pages.popitem(last=False)
            return page

    def _run(self, page: _Page, data: dict[str, Any], asked: Mapping[str, Any], number: int) -> dict[str, Any] | None:
        ready, bounds = page.prepared.ready(data)
        assembly, began = ready.assembly, time.thread_time()
        trace = execute_bare(assembly, singular=False, look=self._stopping(page, number, assembly))
        loop = time.thread_time() - began
        if self._is_late(page, number):
            return None
        broken = assembly.rescues.said is not None
        if page.drawing is None or page.drawing.structure is not ready:
            page.drawing, page.moments = Drawing(assembly, ready), []  # poles of another loop say nothing of this one
        drawn = page.drawing.of(trace, assembly, int(asked.get("scene", -1)), asked.get("figure"))
        results = main_metrics(evaluate(trace, bounds))
        moments = [] if broken or not trace.outcome.ok else self._poles(page, assembly, loop)
        page.prepared.release_broken()
        if asked.get("resting") and not broken and assembly.compiled and window(assembly) <= LONGEST_MAP:
            moments = self._moments(page, data)
        lines = forecast(trace.outcome, moments, results)
        return {
            "number": number,
            "outcome": {"ok": trace.outcome.ok, "text": str(trace.outcome), "kind": trace.outcome.kind},
            "metrics": [_metric(one) for one in results],
            "forecast": [line.as_data() for line in lines],
            "level": worst(lines),
            "headline": headline(lines),
            "warnings": list(trace.warnings),
            "compiled": assembly.compiled,
            "cpu": {"loop": loop},
            **drawn,
        }

    def _poles(self, page: _Page, assembly: Assembly, loop: float) -> list[Moment]:
        """The poles at the end of a run; those of a run shortly before where they would take longer than runs do."""
        page.saved += POLES_SHARE * loop
        if page.moments and page.saved < page.cost:
            return [replace(moment, name=f"{moment.name}, shortly before") for moment in page.moments]
        began = time.thread_time()
        page.moments = [Moment("end", poles_here(assembly, finer=False, probing=False))]
        page.cost, page.saved = time.thread_time() - began, 0.0
        return page.moments

    def _moments(self, page: _Page, data: dict[str, Any]) -> list[Moment]:
        """The poles at the start, at each touch and at the end of a run."""
        assembly, began = page.prepared.ready(data)[0].assembly, time.thread_time()
        page.moments = poles_along(assembly, finer=False)
        page.cost, page.saved = (time.thread_time() - began) / len(page.moments), 0.0
        return page.moments

    def edges(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The nearest values of a slider, on both sides of where it stands, at which the forecast turns to or from red.

        Args:
            asked: as for `update`, and `key`, the slider's.

        Returns:
            `low` and `high`, each an edge or None, or `superseded` where the page asks for something else meanwhile.

        Raises:
            PalpateError: the state is refused, or the key has no slider with numbers.
        """
        state, key = State.read(asked), str(asked.get("key"))
        page, number = self._page(str(asked.get("page", ""))[:_LONG], 0), int(asked.get("number", 0))
        sliders = self._sliders(self._under_law(state))
        check_names("slider", [key], [name for name, one in sliders.items() if one.kind != "choice"])
        slider = sliders[key]
        now = _amount(slider, state.settings.get(key, slider.value))

        def at(amount: float) -> Judged:
            settings = {name: value for name, value in state.settings.items() if not name.startswith(f"{key}.")}
            moved = State(
                state.control, settings | {key: _scaled(slider.value, amount) if slider.kind == "list" else amount}
            )
            return self._judged(page, number, self.data_of(moved))

        found = {name: nearest_edge(at, slider, now, end) for name, end in (("low", slider.low), ("high", slider.high))}
        if self._is_late(page, number):
            return {"superseded": True}
        return {name: None if edge is None else edge.as_data() for name, edge in found.items()}

    def _judged(self, page: _Page, number: int, data: dict[str, Any]) -> Judged:
        """Whether the forecast of a run is red; a superseded request is answered without one."""
        if self._is_late(page, number):
            return Judged(False, "")
        with self._lock, one_thread():
            try:
                ready, bounds = page.prepared.ready(data)
            except PalpateError:
                return Judged(True, "Refused")
            trace = execute_bare(ready.assembly, singular=False, look=self._stopping(page, number, ready.assembly))
            well = trace.outcome.ok and ready.assembly.rescues.said is None
            moments = [Moment("end", poles_here(ready.assembly, finer=False, probing=False))] if well else []
            page.prepared.release_broken()
            bounded = [judge(METRICS[name], trace, bound) for name, bound in bounds.items()]
        lines = forecast(trace.outcome, moments, bounded)
        return Judged(worst(lines) == "bad", headline(lines))

    def _is_late(self, page: _Page, number: int) -> bool:
        """Whether a request is superseded by a later one, or the session is closed."""
        return self.closed or page.latest != number

    def _stopping(self, page: _Page, number: int, assembly: Assembly) -> Callable[[], None]:
        """A function, called between two slices of a run, that ends it once its request is superseded."""

        def look() -> None:
            if self._is_late(page, number):
                assembly.loop.steps = assembly.loop.step

        return look

    def report(self, state: State) -> str:
        """The full report of a state's run."""
        from palpate.views.pages.page import report_html

        scenario = self.scenario_of(state)
        with self._lock:
            trace: Trace = simulate_quietly(scenario)
        return report_html(trace, evaluate(trace, scenario.metrics))

    def scenario_of(self, state: State) -> Scenario:
        """A state as a scenario.

        Raises:
            PalpateError: it is refused.
        """
        return scenario_from_data(self.data_of(state)).with_code()


def _metric(result: Any) -> dict[str, Any]:
    bound = {"least": result.least, "most": result.most, "passed": result.passed, "reason": result.reason}
    return {"name": result.name, "value": result.value, "unit": result.unit, "help": result.help, **bound}


def _plain(value: Any) -> Any:
    """A default as a scenario's data have it: lists instead of tuples."""
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _amount(slider: Slider, value: Any) -> float:
    """Where a slider stands: of a list the factor of its numbers, else the number."""
    if slider.kind != "list":
        return float(value)
    own, now = np.ravel(slider.value), np.ravel(value)
    k = int(np.flatnonzero(own)[0])
    return float(now[k] / own[k])


def _scaled(value: Any, factor: float) -> Any:
    return [_scaled(item, factor) for item in value] if isinstance(value, list) else float(f"{value * factor:.12g}")


def _typed(slider: Slider, value: Any) -> Any:
    """A number from a page as the setting has it: JSON does not tell 1 from 1.0."""
    if slider.kind == "integer":
        return round(value) if isinstance(value, int | float) else value
    return _floats(value)


def _floats(value: Any) -> Any:
    if isinstance(value, list):
        return [_floats(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _check_value(key: str, value: Any) -> None:
    """Refuse what no slider sends."""
    if isinstance(value, list):
        for item in value:
            _check_value(key, item)
    elif isinstance(value, str):
        if len(value) > _LONG:
            raise InvalidInput(f"{key}: the text is too long")
    elif not isinstance(value, bool | int | float) or value != value or abs(value) == float("inf"):
        raise InvalidInput(f"{key}: a finite number, a text or a list of them is needed")
