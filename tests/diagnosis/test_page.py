"""The page of codes is complete and says what the code says."""

import re
from pathlib import Path

from varpu.diagnosis import CODES

PAGE = (Path(__file__).parents[2] / "docs" / "check.md").read_text(encoding="utf-8")


def test_every_code_has_its_heading():
    assert re.findall(r"^### (.*)$", PAGE, re.MULTILINE) == list(CODES)


def test_every_code_is_in_the_table():
    lines = re.findall(r"^\| \[(.*)\]\(#(.*)\) \| (.*) \| (.*) \|$", PAGE, re.MULTILINE)
    assert lines == [
        (code.code, code.code.lower(), code.title, ", ".join(code.severities))
        for code in CODES.values()
    ]


def test_every_section_begins_with_the_title():
    for section in PAGE.split("\n### ")[1:]:
        code, text = section.split("\n\n", 1)
        assert text.startswith(f"**{CODES[code].title}")
