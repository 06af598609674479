"""The page and the Markdown text: whole, safe, and of one mind with the dict."""

import base64
import hashlib
import html
import json
import re

import pytest

from varpu.report.markdown import text
from varpu.report.page import json_for_script


@pytest.fixture(scope="module")
def page(report):
    return report.html()


@pytest.fixture(scope="module")
def hostile_page(hostile):
    return hostile.html()


def test_all_forms_say_the_same(report, page):
    found, markdown = report.to_dict(), report.markdown()
    assert found["answer"] in html.unescape(page)
    assert found["answer"] in markdown
    low, high = found["prior"]["interval"]
    assert f"90% interval {low:.1%} to {high:.1%}" in page
    assert f"{found['prior']['value']:.3f} (90% interval {low:.3f} to {high:.3f})" in markdown
    for line in found["candidates"]["table"]:
        assert line["candidate"] in page
        assert line["candidate"] in markdown
        assert f"{line['held_out_loss']:.4f}".replace("-", "−") in page
        assert f"{line['held_out_loss']:.4f}" in markdown
    data = re.search(r'id="rows-data">(.*?)</script>', page, re.DOTALL)[1]
    assert json.loads(data) == found["rows"]
    assert found["card"]["limits"][0] in html.unescape(page)


@pytest.mark.parametrize("which", ["page", "hostile_page"])
def test_nothing_is_fetched(which, request):
    page = request.getfixturevalue(which)
    markup = re.sub(r'(id="rows-data">).*?</script>', "", page, flags=re.DOTALL)
    assert not re.findall(r"<(?:img|iframe|object|embed|audio|video|base|form action)\b", markup)
    links = re.findall(r"<[^>]*\s(?:src|href|action|poster|srcset)=[\"']?([^\"'\s>]+)", markup)
    assert links
    assert all(link.startswith("#") or link == "data:," for link in links)
    assert "@import" not in page
    assert "url(" not in markup.split("<style>")[1].split("</style>")[0]
    assert not re.findall(r"\son\w+=", re.sub(r"(?s)<(style|script)>.*?</\1>", "", tags_of(page)))


def tags_of(page):
    """Only the tags, without the values of attributes."""
    return " ".join(re.sub(r"\"[^\"]*\"", '""', tag) for tag in re.findall(r"<[a-z][^>]*>", page))


def test_the_policy_knows_script_and_style_alone(page):
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])
    assert policy.startswith("default-src 'none';")
    for name, tag in [("style-src", "style"), ("script-src", "script")]:
        inside = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}'" in policy
    assert "style=" not in page.split("</style>")[1]  # the policy would drop it


def test_hostile_texts_stay_texts(hostile, hostile_page):
    assert len(hostile.to_dict()["rows"]["data"]) > 9_000
    # Two scripts open and close: the data and ours.
    assert len(re.findall(r"<script\b", hostile_page)) == 2
    assert hostile_page.count("</script>") == 2
    assert "<img" not in hostile_page
    assert "{{ 7 * 7 }}{% raw %}" in html.unescape(hostile_page)
    assert "\u2028" not in re.search(r'id="rows-data">(.*?)</script>', hostile_page, re.DOTALL)[1]
    markdown = hostile.markdown()
    assert not re.findall(r"(?<!\\)<(?:script|img)", markdown.split("## Reproduce")[0])
    assert not re.findall(r"(?<!\\)\]\(", markdown)


def test_json_in_a_script_comes_back():
    value = {"</script>": "<!-- & \u2028\u2029 -->"}
    written = json_for_script(value)
    assert not re.search("[<>&\u2028\u2029]", written)
    assert json.loads(written) == value


def test_markdown_text_is_one_cell():
    assert text("a|b\nc *d* <e>") == r"a\|b c \*d\* \<e\>"
    assert text(None) == "–"


def test_a_cell_of_megabytes_is_cut(fitted):
    from varpu import PUReport

    model, X, y = fitted
    ids = ["x" * 1_000_000] * len(y)
    assert len(PUReport(model, X, y, ids=ids, findings=[]).html()) < 1_000_000


def test_the_page_can_be_read_by_all(page):
    assert '<html lang="en">' in page
    assert 'name="viewport"' in page
    for landmark in ("<header", "<nav aria-label", "<main", "<footer"):
        assert page.count(landmark) == 1
    assert page.count("<table") == page.count("<caption")
    assert all("scope=" in head for head in re.findall(r"<th\b[^>]*>", page))
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)
    assert "prefers-reduced-motion" in page
    assert "@media print" in page


def colours(css, theme):
    block = re.search(rf"{theme} {{(.*?)}}", css, re.DOTALL)[1]
    return dict(re.findall(r"--(\w[\w-]*): (#\w{6})", block))


def contrast(one, other):
    def light(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [":root", r':root\[data-theme="dark"\]'])
def test_texts_stand_out(page, theme):
    found = colours(page, theme)
    for ink in ("ink", "soft", "accent", "warm"):
        for ground in ("paper", "card", "notice"):
            assert contrast(found[ink], found[ground]) >= 4.5, (ink, ground)


def test_both_ways_to_dark_are_one(page):
    by_system = colours(page, r':root:not\(\[data-theme="light"\]\)')
    assert by_system == colours(page, r':root\[data-theme="dark"\]')
