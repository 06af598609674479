"""The page in a real browser: Chromium, as Debian packages it."""

import csv
import io
import shutil
from contextlib import contextmanager

import pytest

from varpu._demo import run_demo

CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("there is no chromium", allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as runner:
        browser = runner.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    file = tmp_path_factory.mktemp("demo") / "report.html"
    run_demo(seed=0, out=file)
    return file


@pytest.fixture(scope="module")
def hostile_file(hostile, tmp_path_factory):
    return hostile.save(tmp_path_factory.mktemp("hostile") / "report.html")


@contextmanager
def opened(browser, file, viewport=DESKTOP, **options):
    """The page; at the end nothing but its own file was asked for, and no error was shown."""
    context = browser.new_context(viewport=viewport, **options)
    context.set_default_timeout(10_000)
    page = context.new_page()
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: (said.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.goto(file.as_uri())
    yield page
    context.close()
    assert [url for url in asked if not url.startswith(("blob:", "data:"))] == [file.as_uri()]
    assert said == []


def column(page, number):
    return page.locator(f"#ranked tbody tr td:nth-child({number})").all_inner_texts()


def head(page, name):
    return page.locator("#ranked thead th").filter(has=page.get_by_role("button", name=name))


def overflow(page):
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_demo_report(browser, demo, viewport):
    with opened(browser, demo, viewport, color_scheme="light") as page:
        assert "unlabelled rows are positive" in page.locator(".answer").inner_text()
        assert overflow(page) <= 0
        sort_search_and_filter(page)
        switch_theme(page)
        page.locator("summary").first.click()
        assert overflow(page) <= 0
        for name in ("desktop", "phone"):  # and turned
            page.set_viewport_size({"desktop": DESKTOP, "phone": PHONE}[name])
            assert overflow(page) <= 0


def sort_search_and_filter(page):
    assert column(page, 1) == [str(i) for i in range(1, 26)]
    page.get_by_role("button", name="probability", exact=True).click()
    page.get_by_role("button", name="probability", exact=True).click()
    assert head(page, "probability").get_attribute("aria-sort") == "ascending"
    assert head(page, "rank").get_attribute("aria-sort") == "none"
    lowest = [float(value) for value in column(page, 3)]
    assert lowest == sorted(lowest)
    assert lowest[0] < 0.1
    page.get_by_role("button", name="rank", exact=True).click()
    known = column(page, 2)[3]
    page.get_by_label("Search").fill(known)
    assert known in column(page, 2)
    assert len(column(page, 2)) < 25
    page.get_by_label("Search").fill("no such row")
    assert column(page, 1) == []
    assert page.get_by_role("status").inner_text() == "No row matches"
    page.get_by_label("Search").fill("")
    before = page.get_by_role("status").inner_text()
    page.get_by_label("Probability at least").fill("0.5")
    assert page.get_by_role("status").inner_text() != before
    page.get_by_role("button", name="Last").click()
    assert all(float(value) >= 0.5 for value in column(page, 3))
    page.get_by_label("Probability at least").fill("0")


def switch_theme(page):
    def ground():
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    light = ground()
    page.get_by_role("button", name="Switch to dark colours").click()
    assert ground() != light
    page.get_by_role("button", name="Switch to light colours").click()
    assert ground() == light


def test_dark_is_taken_from_the_system(browser, demo):
    with opened(browser, demo, color_scheme="dark", reduced_motion="reduce") as page:
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 27)"
        page.get_by_role("button", name="Switch to light colours").click()
        assert page.evaluate("document.cookie + Object.keys(localStorage)") == ""


def test_the_keyboard_is_enough(browser, demo):
    with opened(browser, demo) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        button = page.get_by_role("button", name="score", exact=True)
        for _ in range(20):
            page.keyboard.press("Tab")
            if button.evaluate("one => one === document.activeElement"):
                break
        assert button.evaluate("one => getComputedStyle(one).outlineStyle") == "solid"
        page.keyboard.press("Enter")
        assert head(page, "score").get_attribute("aria-sort") == "descending"
        page.keyboard.press("Space")
        assert head(page, "score").get_attribute("aria-sort") == "ascending"
        scores = [float(value) for value in column(page, 4)]
        assert scores == sorted(scores)


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_hostile_texts_are_shown_as_texts(browser, hostile_file, hostile, viewport):
    found = hostile.to_dict()
    with opened(browser, hostile_file, viewport) as page:
        assert page.title() == found["title"] == "<script>alert(1)</script>"
        assert page.locator("h1").inner_text() == found["title"]
        shown = page.locator("#ranked tbody tr td:nth-child(2)").all_text_contents()
        assert shown == [line[1] for line in found["rows"]["data"][:25]]
        assert page.locator("main img, main script, #findings img").count() == 0
        assert "<img src=x onerror=alert(1)>" in page.locator("#findings").inner_text()
        assert overflow(page) <= 0


def test_ten_thousand_rows_are_sorted_and_exported(browser, hostile_file, hostile, tmp_path):
    data = hostile.to_dict()["rows"]["data"]
    assert len(data) > 9_000
    with opened(browser, hostile_file, accept_downloads=True) as page:
        page.get_by_role("button", name="score", exact=True).click()
        page.get_by_role("button", name="score", exact=True).click()
        lowest = sorted(line[3] for line in data)[:25]
        assert [float(value) for value in column(page, 4)] == pytest.approx(lowest, abs=0.006)
        seconds = page.evaluate(
            "(() => { const t = performance.now();"
            " document.querySelectorAll('#ranked th button')[1].click();"
            " return (performance.now() - t) / 1000; })()"
        )
        assert seconds < 20  # a second is the aim; this is for machines that are busy
        assert head(page, "id").get_attribute("aria-sort") == "ascending"
        page.get_by_label("Search").fill("HYPERLINK(1) 1")
        with page.expect_download() as download:
            page.get_by_role("button", name="Export CSV").click()
        download.value.save_as(tmp_path / "rows.csv")
    text = (tmp_path / "rows.csv").read_bytes().decode("utf-8-sig")
    lines = list(csv.reader(io.StringIO(text, newline="")))
    assert len(lines) == 1 + sum(
        any("hyperlink(1) 1" in str(value).lower() for value in [line[1], *line[4:]])
        for line in data
    )
    assert all(line[1].startswith("'=HYPERLINK(1) 1") for line in lines[1:])
