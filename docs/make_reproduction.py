"""Write the page of all tables and figures of the paper anew, from ``results/paper``.

python docs/make_reproduction.py            write the page and its figures
python docs/make_reproduction.py --check    write nothing; exit 1 if the page is stale
"""

import sys
from pathlib import Path

from varpu.paper import page_text, write_page

DOCS = Path(__file__).parent
PAGE = DOCS / "reproduction.md"
RESULTS = DOCS.parent / "results" / "paper"


def main() -> None:
    """Write or check."""
    if "--check" not in sys.argv[1:]:
        write_page(PAGE, RESULTS)
    elif not PAGE.is_file() or page_text(RESULTS) != PAGE.read_text(encoding="utf-8"):
        raise SystemExit(f"{PAGE} is stale: run python docs/make_reproduction.py")


if __name__ == "__main__":
    main()
