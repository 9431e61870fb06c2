"""The system's Chromium, without network, pages opened in it, and releases of every mechanism to make pages of."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rrpolicy.cli.main import main
from rrpolicy.report import Report
from rrpolicy_reports.html import HtmlRenderer

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


CONTRAST = """() => {
  const parse = text => { const m = text.match(/[\\d.]+/g).map(Number); return text.startsWith('color(srgb')
    ? [m[0] * 255, m[1] * 255, m[2] * 255, m.length > 3 ? m[3] : 1] : [m[0], m[1], m[2], m.length > 3 ? m[3] : 1]; };
  const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const behind = element => {
    if (!element) return [255, 255, 255, 1];
    const own = parse(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, behind(element.parentElement));
  };
  const light = c => { const [r, g, b] = c.slice(0, 3).map(v => { v /= 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const found = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || ['TITLE', 'DESC', 'title', 'desc'].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const under = behind(element);
    const ink = over(parse(element instanceof SVGElement ? style.fill : style.color), under);
    const [a, b] = [light(ink), light(under)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const key = element.tagName + '.' + (element.className.baseVal ?? element.className);
    if (!found.has(key) || found.get(key) > ratio) found.set(key, ratio);
  }
  return Object.fromEntries(found);
}"""


@pytest.fixture(scope="session")
def examples() -> Any:
    """Return the module of built reports; tests are not a package."""
    spec = importlib.util.spec_from_file_location("report_examples", Path(__file__).with_name("examples.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


POLICIES = Path(__file__).resolve().parents[2] / "policies"
BY_VALUE = """
[[privacy]]
model = "attribute-disclosure"
threshold = "1/4"
thresholds = { none = "9/10", diabetes = "1/5" }
sensitive = ["disease"]

[[privacy]]
model = "attribute-disclosure"
threshold = "1/5"
sensitive = ["income_band"]
where = { sex = "female" }

[[privacy]]
model = "local-dp"
epsilon = 30

[mechanism]
name = "rr-both"

[[utility]]
metric = "expected-l2"
max = 5
"""
UNLINKABLE = 'hours = { role = "insensitive", assume_unlinkable = "told to the interviewer only" }'
INCOME = 'domain = ["under 15k", "15k to 30k", "30k to 50k", "50k to 80k", "over 80k"]'


def mondrian(text: str) -> str:
    """Return the policy of l-diversity with boxes."""
    return re.sub(r"(?s)algorithm = .*", 'algorithm = "mondrian"\n', text)


def tp(text: str) -> str:
    """Return the policy of l-diversity with suppressed records, of incomes: three of four people have no disease."""
    text = re.sub(r"(?s)(# The diseases of a group are.*)?\[mechanism\].*", "", text)
    text = re.sub(r"(?m)^hours = .*", 'hours = { role = "excluded" }', text)
    text = re.sub(r"(?m)^disease = .*", 'disease = { role = "excluded" }', text)
    text = re.sub(r"(?m)^income_band = .*", f'income_band = {{ role = "sensitive", {INCOME} }}', text)
    text = text.replace("k = 10", "k = 3").replace("distinct", "frequency").replace('["disease"]', '["income_band"]')
    return text + '[mechanism]\nname = "l-diversity"\nalgorithm = "tp"\n'


def by_value(text: str) -> str:
    """Return the policy of rr-both with limits by value, a subgroup, an assumption and an observed domain."""
    text = re.sub(r"(?s)# Who knows somebody's sex.*", "", text) + BY_VALUE
    randomised = ("sex", "age", "education", "region", "disease", "income_band")
    ids = ["domain:region", *(f"parameters:{name}" for name in randomised), "released"]
    text += f"\n[release]\naccept = {json.dumps(ids)}\n"
    text = re.sub(r"(?m)^hours = .*", UNLINKABLE, text)
    return re.sub(r"(?m)^region = .*", 'region = { role = "quasi-identifier", domain = "observed" }', text)


VARIANTS: dict[str, tuple[str, Callable[[str], str]]] = {
    **{name: (name, str) for name in ("pram", "rr-both", "rr-qi", "rr-s", "sensitive-addition", "anatomy")},
    "l-diversity": ("l-diversity", str),
    "mondrian": ("l-diversity", mondrian),
    "tp": ("l-diversity", tp),
    "by-value": ("rr-both", by_value),
}


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that releases the demo table under an example policy, or a variant of one, once."""
    folder, made = tmp_path_factory.mktemp("mechanisms"), set()
    shutil.copytree(POLICIES, folder / "policies")

    def release(name: str) -> Path:
        if name not in made:
            base, change = VARIANTS[name]
            policy = folder / "policies" / f"of-{name}.toml"
            policy.write_text(change((POLICIES / f"{base}.toml").read_text()))
            assert main(["release", str(policy), "--out", str(folder / name)]) == 0
            made.add(name)
        return folder / name

    return release


def chromium() -> str | None:
    """Return the path of the system's Chromium."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("RRPOLICY_CHROMIUM") or next((p for p in map(shutil.which, names) if p), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    path = chromium()
    if path is None:
        pytest.skip("no Chromium: install it, or name it in RRPOLICY_CHROMIUM")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    try:
        driver = api.sync_playwright().start()
    except Exception as error:  # noqa: BLE001 - its only type where a library of the driver is missing
        pytest.skip(f"Playwright's driver does not start (on Debian it needs libatomic1): {error}")
    started = driver.chromium.launch(executable_path=path, args=list(ARGUMENTS))
    yield started
    started.close()
    driver.stop()


@pytest.fixture(scope="session")
def contrast() -> str:
    """Return a script that measures the contrast of every text of a page, by element and class the least."""
    return CONTRAST


@pytest.fixture
def visited(browser: Any) -> Iterator[Callable[..., Any]]:
    """Return a function that opens a file without JavaScript; any request but for that file fails the test."""
    contexts, requests = [], []

    def visit(file: Path, width: int, scheme: str, *, script: bool = False) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=script
        )
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.goto(file.as_uri())
        return page

    yield visit
    for context in contexts:
        context.close()
    assert [r for r in requests if not r.startswith("file:")] == []
    assert len(requests) == len(contexts)


@pytest.fixture
def opened(visited: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Return a function that renders a report and opens it as `visited` does."""

    def open_page(report: Report, width: int = 1400, scheme: str = "light", *, script: bool = False) -> Any:
        file = tmp_path / f"{len(list(tmp_path.glob('*.html')))}.html"
        file.write_bytes(HtmlRenderer().render(report))
        return visited(file, width, scheme, script=script)

    return open_page
