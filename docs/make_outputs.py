"""Run the Python blocks of the pages and write below each what it printed.

python docs/make_outputs.py [PAGE ...]    all pages, or those named
"""

import contextlib
import io
import runpy
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
# Blocks are found as those of the README are.
python_blocks = runpy.run_path(str(DOCS.parent / "tests" / "test_readme.py"))["python_blocks"]


def with_outputs(text: str, name: str) -> str:
    """A page's text with true outputs; its blocks run in order, as one program."""
    lines, written, done = text.split("\n"), [], 0
    namespace = {"__name__": "page"}
    for line, code in python_blocks(text):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            # The empty lines in front make a traceback point into the page.
            exec(compile("\n" * (line - 1) + code, name, "exec"), namespace)
        end = line + code.count("\n")
        written += lines[done:end]
        if printed.getvalue():
            written += ["", "```text", *printed.getvalue().splitlines(), "```"]
        shows_output = lines[end : end + 2] == ["", "```text"]
        done = lines.index("```", end + 2) + 1 if shows_output else end
    return "\n".join(written + lines[done:])


def main() -> None:
    """Write the pages."""
    named = [Path(name).resolve() for name in sys.argv[1:]]
    for page in named or sorted(DOCS.resolve().rglob("*.md")):
        old = page.read_text(encoding="utf-8")
        # What a page writes is not for the repository.
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            new = with_outputs(old, str(page))
        if new != old:
            page.write_text(new, encoding="utf-8")
            print(page)


if __name__ == "__main__":
    main()
