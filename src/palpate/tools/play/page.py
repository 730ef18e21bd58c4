"""The page with sliders: its markup, and the data that its script (assets/play.js) begins with."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from palpate.escape.documents import html_json, html_text
from palpate.views.pages.assets import script
from palpate.views.pages.player import LIVE, POLICY, SCRIPTS, html

if TYPE_CHECKING:
    from palpate.tools.play.session import Session


def play_html(session: Session) -> str:
    """The whole page of a session."""
    from palpate.tools.play.session import State

    scenario = session.scenario
    begin = {"name": scenario.name, "offer": session.offered(State())}
    data = f'<script id="begin" type="application/json">{html_json(begin)}</script>'
    about = f'<p class="lead soft">{html_text(scenario.description)}</p>' if scenario.description else ""
    body = [
        '<body class="playing">',
        f"<header><h1>{html_text(scenario.name)}: play</h1>{about}</header>",
        _BODY,
        data,
        script(*SCRIPTS, LIVE),
        f"<script>{_asset('play.js')}</script>",
    ]
    policy = f"{POLICY}; connect-src 'self'"
    return html(f"{scenario.name}: play", body, policy).replace(
        "</head>", f"<style>{_asset('play.css')}</style></head>", 1
    )


@cache
def _asset(name: str) -> str:
    return (resources.files("palpate.tools.play") / "assets" / name).read_text(encoding="utf-8")


_BODY = """
<main class="board">
<section class="panel" aria-label="Settings">
<div class="row"><label for="law">law</label><select id="law"></select></div>
<p id="law-said" class="soft" role="status" hidden></p>
<div id="sliders"></div>
<div class="row"><label for="add">add a slider</label><input id="add" list="keys" autocomplete="off"
 placeholder="type a key, such as friction"><datalist id="keys"></datalist></div>
<p id="add-said" class="bad" role="alert" hidden></p>
<div class="row buttons">
<button type="button" id="reset">reset all</button>
<button type="button" id="keep" aria-pressed="false">keep as ghost</button>
<button type="button" id="save">save as scenario</button>
<button type="button" id="copy">copy command</button>
<a id="report" class="button" target="_blank" rel="noopener" href="report">full report</a>
</div>
<p id="did" class="soft" role="status"></p>
<pre id="command" tabindex="0" aria-label="command of this run"></pre>
</section>
<section class="view" aria-label="Robot">
<div class="row modes" role="group" aria-label="mode">
<button type="button" id="mode-run" aria-pressed="true">whole run</button>
<button type="button" id="mode-live" aria-pressed="false">live: push the arm</button>
<span id="live-tools" hidden>
<label>strength <input id="strength" type="range" min="10" max="500" step="10" value="100">
<output>100 N</output></label>
<label>push the tool along <select id="push-axis"><option>+x</option><option>−x</option><option>+y</option>
<option>−y</option><option>+z</option><option>−z</option></select></label>
<button type="button" id="push-tool">hold to push</button>
<button type="button" id="restart">start again</button>
</span>
<span id="status" role="status" class="soft"></span>
</div>
<div class="replay" id="replay"></div>
</section>
<div class="side">
<section class="answer" aria-label="Forecast and force">
<p id="refused" class="outcome bad" role="alert" hidden></p>
<div id="forecast" class="outcome"><p class="soft">the first run is being made …</p></div>
<div class="plot" id="lead"></div>
</section>
<section class="more" aria-label="More plots and metrics">
<div class="row"><label for="figure">second plot</label>
<select id="figure"><option value="">none</option></select></div>
<div id="second"></div>
<ul id="warnings" class="notes" hidden></ul>
<div class="wide"><table id="metrics">
<thead><tr><th>Metric<th class="number">Value<th>Bound</thead><tbody></tbody></table></div>
<p id="pace" class="soft"></p>
</section>
</div>
</main>
"""
