"""Reports in a real browser, at the widths of a screen and of a telephone."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from narrows.command import cli

pytestmark = pytest.mark.nightly  # needs the extra `long`
pytest.importorskip("jinja2")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report of a comparison of 200 samples with long names of columns and classes."""
    folder = tmp_path_factory.mktemp("browser")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 12, 400)
    X = rng.normal(size=(400, 30)) + np.eye(12, 30)[y] * 3
    names = [f"measurement_number_{k}_in_millimetres" for k in range(30)]
    lines = [
        ",".join([*(f"{v:.3f}" for v in x), f"a rather long class name {j}"])
        for x, j in zip(X, y, strict=True)
    ]
    (folder / "t.csv").write_text("\n".join([",".join([*names, "class"]), *lines]))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert cli.main(["compare", "t.csv", "--dims", "2,5", "--report", "r.html"]) == 0
    return folder / "r.html"


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the path")
@pytest.mark.parametrize("width", [1280, 390])
def test_a_report_fits_the_window_and_fetches_nothing(report, width):
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 844})
        said, fetched = [], []
        page.on("console", lambda message: said.append(message.text))
        page.on("request", lambda request: fetched.append(request.url))
        page.goto(report.as_uri(), timeout=60_000)
        assert [url for url in fetched if not url.startswith("data:")] == [report.as_uri()]
        assert said == []  # such as a refusal by the content security policy
        assert page.evaluate("document.documentElement.scrollWidth") == width
        tables = page.locator(".wide table")
        hidden = 0
        for i in range(tables.count()):
            box = tables.nth(i).locator("xpath=..")
            inner, outer = box.evaluate("e => [e.scrollWidth, e.clientWidth]")
            assert outer <= width
            hidden += inner > outer
        assert (hidden > 0) == (width == 390)  # they scroll there, and fit here
        pictures = page.locator("img")
        for i in range(pictures.count()):
            assert pictures.nth(i).evaluate("e => e.complete && e.naturalWidth > 0")
        assert page.locator("svg use title").count() == 80
        browser.close()
