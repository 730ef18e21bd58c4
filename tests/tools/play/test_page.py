"""The page in Chromium: sliders move, curves follow, the arm is pushed; further tabs and cut connections do no harm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from moments import ENDLESS
from palpate.run.simulate import simulate_quietly
from palpate.scenario.file.load import load_scenario
from palpate.tools.play.server import Playing
from palpate.tools.play.session import Session, State
from palpate.views.pages.interactive import MOST_POINTS, thin
from views.conftest import SCRIPT, axe as axe

pytestmark = pytest.mark.browser
LAPTOP, PHONE = (1400, 900), (360, 740)
SMALL = (900, 480)  # little to draw, for there is no graphics card here
SHORT = ["run.duration=1.5"]
STIFFNESS, DELAY = "#set-control\\.stiffness", "#set-world\\.driver\\.delay"
CURVE = "() => { const s = Play.lead.spec.series.at(-3); return [s.label, [...s.x], [...s.y]] }"
LABELS = "() => Play.lead.spec.series.map(s => s.label)"
# Where the middle of a link is on the screen, and how far it is from where it was at first, m.
LINK = """() => { const r = Play.replay, box = r.canvas.getBoundingClientRect();
    const geom = r.geoms.find(g => g.body === 5 && g.rgba[3] === 1), b = r.data.bodies[5];
    const m = Shapes.times(Shapes.placed(r.between(b.p, 3, r.frame()), r.between(b.q, 4, r.frame())), geom.model);
    const [x, y] = r.onScreen([m[12], m[13], m[14]]); return [box.left + x, box.top + y] }"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playing]:
    session = Session(load_scenario("panda-wall", [*SHORT, f"description={SCRIPT!r}"]), "panda-wall", ("--set", *SHORT))
    with Playing(session, folder=tmp_path_factory.mktemp("saved")) as playing:
        yield playing


@contextmanager
def opened(browser: Any, server: Playing, size: tuple[int, int] = SMALL, complains: bool = True) -> Iterator[Any]:
    """The page at rest after its first run, without complaints."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]})
    context.set_default_timeout(1000 * ENDLESS)
    page, complaints = context.new_page(), []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(server.url)
    rested(page)
    yield page
    context.close()
    assert not complaints or not complains


def rested(page: Any) -> None:
    """Wait until the page shows the run of its state, and nothing is under way."""
    page.wait_for_function("() => Play.rested")


def curve_of(server: Playing, page: Any) -> tuple[np.ndarray, np.ndarray]:
    """What the force must be: from `simulate`, for the state that the page has."""
    state = State.read(page.evaluate("() => Play.state"))
    trace = simulate_quietly(server.session.scenario_of(state))
    return thin(trace.time, -trace["contact_wrench"][:, 0], MOST_POINTS)


def check_curve(server: Playing, page: Any) -> None:
    label, time, force = page.evaluate(CURVE)
    wanted = curve_of(server, page)
    assert label == "contact force along the desired force"
    np.testing.assert_array_equal(np.float32(time), wanted[0].astype("f4"))
    np.testing.assert_array_equal(np.float32(force), wanted[1].astype("f4"))


def test_sliders_move_by_keyboard_and_mouse_and_the_curve_is_that_of_simulate(browser, server: Playing) -> None:
    with opened(browser, server) as page:
        check_curve(server, page)
        page.locator(STIFFNESS).focus()
        for _ in range(60):
            page.keyboard.press("ArrowLeft")
        rested(page)
        stiffness = page.evaluate("() => Play.state.settings['control.stiffness']")
        assert stiffness[0] < 300.0
        assert page.locator(STIFFNESS).get_attribute("aria-valuetext").startswith("times 0.5")
        check_curve(server, page)
        box = page.locator(STIFFNESS).bounding_box()
        page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2, steps=12)
        page.mouse.up()
        rested(page)
        assert page.evaluate("() => Play.state.settings['control.stiffness'][0]") > 1000.0
        check_curve(server, page)
        peak = page.evaluate("() => Number(document.querySelector('[data-metric=force_peak]').dataset.value)")
        state = State.read(page.evaluate("() => Play.state"))
        assert peak == simulate_quietly(server.session.scenario_of(state))["contact_force"].max()
        assert page.evaluate("() => window.hacked === undefined")


def test_the_forecast_turns_red_at_the_edge_and_back(browser, server: Playing) -> None:
    with opened(browser, server) as page:
        assert page.locator("#forecast").get_attribute("data-level") == "good"
        page.locator(DELAY).focus()
        for _ in range(22):
            page.keyboard.press("ArrowRight")
        rested(page)
        assert page.locator("#forecast").get_attribute("data-level") == "bad"
        assert "unstable" in page.locator("#forecast").inner_text()
        red, green, blue = map(float, _colour(page, "#forecast .head"))
        assert red > 2 * max(green, blue)
        page.wait_for_function(
            "() => [...document.querySelectorAll('.edge')].some(e => e.textContent.includes('no longer red'))"
        )
        page.get_by_role("button", name="reset all").click()
        rested(page)
        assert page.locator("#forecast").get_attribute("data-level") == "good"


def _colour(page: Any, selector: str) -> list[str]:
    text = page.locator(selector).evaluate("node => getComputedStyle(node).color")
    return text.removeprefix("rgb(").removesuffix(")").split(",")


@pytest.mark.slow
def test_any_setting_gets_a_slider_and_a_number(browser, server: Playing) -> None:
    with opened(browser, server) as page:
        page.locator("#add").fill("wall.friction")
        page.locator("#add").press("Enter")
        box = page.get_by_role("spinbutton", name="world.surfaces.wall.friction as a number")
        assert float(box.input_value()) == 0.3
        box.fill("0.9")
        box.press("Enter")
        rested(page)
        assert page.evaluate("() => Play.state.settings") == {"world.surfaces.wall.friction": 0.9}
        assert "--set world.surfaces.wall.friction=0.9" in page.locator("#command").inner_text()
        check_curve(server, page)
        page.get_by_role("button", name="remove the slider world.surfaces.wall.friction").click()
        rested(page)
        assert page.evaluate("() => Play.state.settings") == {}
        page.locator("#add").fill("no such thing")
        page.locator("#add").press("Enter")
        assert "no setting" in page.locator("#add-said").inner_text()


@pytest.mark.slow
def test_another_law_says_what_it_takes_and_drops(browser, server: Playing) -> None:
    with opened(browser, server) as page:
        page.get_by_label("law").first.select_option("joint-impedance")
        page.locator("#law-said").wait_for()
        assert "drops damping" in page.locator("#law-said").inner_text()
        rested(page)
        assert "control.law=joint-impedance" in page.locator("#command").inner_text()
        page.reload()
        rested(page)
        assert page.locator("#law").input_value() == "joint-impedance"  # the page goes on where it was


@pytest.mark.slow
def test_a_ghost_stays_while_the_curve_moves(browser, server: Playing) -> None:
    with opened(browser, server) as page:
        before = page.evaluate(CURVE)[2]
        page.get_by_role("button", name="keep as ghost").click()
        page.locator(STIFFNESS).press("PageDown")
        rested(page)
        assert page.evaluate(LABELS)[0] == "ghost"
        assert page.evaluate("() => [...Play.lead.spec.series[0].y]") == before
        assert page.evaluate(CURVE)[2] != before
        page.get_by_role("button", name="forget the ghost").click()
        assert "ghost" not in page.evaluate(LABELS)


@pytest.mark.slow
def test_a_refused_value_is_told_and_the_last_curve_stays(browser, server: Playing) -> None:
    with opened(browser, server) as page:
        before = page.evaluate(CURVE)[2]
        box = page.get_by_role("spinbutton", name="control.damping_ratio as a number")
        box.fill("-1")
        box.press("Enter")
        page.locator("#refused").wait_for()
        assert "damping_ratio" in page.locator("#refused").inner_text()
        assert page.evaluate(CURVE)[2] == before
        box.fill("0.5")
        box.press("Enter")
        rested(page)
        assert not page.locator("#refused").is_visible()


def test_the_arm_is_pushed_by_the_mouse(browser, server: Playing) -> None:
    with opened(browser, server) as page:
        page.get_by_role("button", name="live: push the arm").click()
        page.wait_for_function("() => Play.live && Play.live.last")
        x, y = page.evaluate(LINK)
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 60, y - 20, steps=4)
        held = page.evaluate("() => Play.live.held && Play.live.held.body")
        assert held is not None
        page.wait_for_function("() => { const p = Play.live.last.plots[0].lines; return p.push > 5 }")
        force = page.evaluate("() => Play.live.last.arrows.at(-1)")
        right = page.evaluate(
            "() => Shapes.unit(Shapes.cross([0, 0, 1], Shapes.minus(Play.replay.eye, Play.replay.centre)))"
        )
        assert np.dot(force[0], right) > 0.0  # it pulls to where the mouse is
        assert "pushing with" in page.locator("#status").inner_text()
        page.mouse.up()
        page.wait_for_function("() => Play.live.last.plots[0].lines.push === 0")
        page.locator("#push-tool").focus()
        page.keyboard.down(" ")
        page.wait_for_function("() => Play.live.last.plots[0].lines.push > 5")
        page.keyboard.up(" ")
        page.wait_for_function("() => Play.live.last.plots[0].lines.push === 0")
        page.locator(STIFFNESS).press("PageDown")  # goes on with another stiffness
        page.wait_for_function("() => Play.live.last.said === ''")
        time = page.evaluate("() => Play.live.last.time")
        page.wait_for_function(f"() => Play.live.last.time > {time} + 0.2")
        page.get_by_role("button", name="whole run").click()
        rested(page)
        check_curve(server, page)


def test_a_cut_connection_is_told_and_made_good(browser, server: Playing) -> None:
    with opened(browser, server, complains=False) as page:
        page.context.set_offline(True)
        page.locator(STIFFNESS).press("PageUp")
        page.wait_for_function("() => document.getElementById('status').textContent.includes('does not answer')")
        page.context.set_offline(False)
        rested(page)
        assert page.locator("#status").inner_text() == ""
        check_curve(server, page)


@pytest.mark.slow
def test_two_pages_do_not_disturb_each_other(browser, server: Playing) -> None:
    with opened(browser, server) as one, opened(browser, server) as two:
        for _ in range(10):
            one.locator(STIFFNESS).press("ArrowUp")
            two.locator(STIFFNESS).press("ArrowDown")
        rested(one)
        rested(two)
        check_curve(server, one)
        check_curve(server, two)
        stiffness = [page.evaluate("() => Play.state.settings['control.stiffness'][0]") for page in (one, two)]
        assert stiffness[0] > 400.0 > stiffness[1]


@pytest.mark.parametrize(
    ("scheme", "size"),
    [("dark", PHONE), pytest.param("light", LAPTOP, marks=pytest.mark.slow)],
    ids=["phone", "laptop"],
)
def test_axe_finds_nothing_serious_and_nothing_is_too_wide(
    browser, axe: Callable[[Any], list[list[str]]], server: Playing, scheme: str, size: tuple[int, int]
) -> None:
    with opened(browser, server, size) as page:
        page.emulate_media(color_scheme=scheme)
        page.get_by_role("button", name="keep as ghost").click()
        page.locator("#figure").select_option("joints")
        rested(page)
        assert axe(page) == []
        page.locator(DELAY).fill("25")
        rested(page)
        assert axe(page) == []  # in red, too
        assert page.evaluate("() => document.documentElement.scrollWidth") <= size[0]
        page.get_by_role("button", name="live: push the arm").click()
        page.wait_for_function("() => Play.live && Play.live.last")
        assert axe(page) == []
        assert page.evaluate("() => document.documentElement.scrollWidth") <= size[0]
