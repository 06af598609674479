"""What the pages need beyond Markdown: measured numbers to link to, and plain cross-references."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files


def on_files(files: Files, config: Any) -> Files:
    """Add the JSON files of ``results/``, which lies outside of the pages' folder."""
    root = Path(config.config_file_path).parent
    for file in sorted((root / "results").rglob("*.json")):
        name = file.relative_to(root).as_posix()
        files.append(File.generated(config, name, abs_src_path=str(file)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """In a checkout ``results/`` is one folder further up than on the site."""
    return re.sub(r"\]\(((?:\.\./)*)\.\./results/", r"](\1results/", markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Docstrings name other things as Sphinx does; here the name alone is shown."""
    return re.sub(r":(?:class|func|meth|mod|data):(?=<code>)", "", html)
