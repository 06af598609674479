"""Write the tables of three pages anew, from the classifiers and from what was measured.

python docs/make_comparison.py            write the pages
python docs/make_comparison.py --check    write nothing; exit 1 if a page is stale
"""

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pandas as pd

from varpu.methods import comparison

DOCS = Path(__file__).parent
METHODS, PRIORS = DOCS / "methods" / "index.md", DOCS / "priors" / "index.md"
SCALE = DOCS / "scale.md"
RESULTS = DOCS.parent / "results"
HEADERS = {
    "classifier": "classifier",
    "method": "method",
    "without_prior": "trains without a prior",
    "without_separability": "consistent without separable classes",
    "learner": "learner",
    "images": "images",
    "cost": "a fit trains",
    "reference": "reference",
    "reconstruction": "reconstruction",
}


def page_of(classifier: str) -> str:
    """The page whose title names a classifier."""
    for page in sorted(METHODS.parent.glob("*.md")):
        if f"`{classifier}`" in page.read_text(encoding="utf-8").split("\n", 1)[0]:
            return page.name
    raise SystemExit(f"no page of docs/methods has `{classifier}` in its title")


def markdown(header: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    header = list(header)
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def methods_table(methods: pd.DataFrame) -> str:
    """One line a classifier, with a link to its page."""
    assert set(methods.columns) == set(HEADERS)
    return markdown(
        HEADERS.values(),
        ([_cell(name, row[name]) for name in HEADERS] for _, row in methods.iterrows()),
    )


def _cell(column: str, value: object) -> str:
    if column == "classifier":
        return f"[`{value}`]({page_of(str(value))})"
    return str(value) if isinstance(value, str) else ("yes" if value else "no")


def measured_table(results: dict[str, object]) -> str:
    """Accuracy, prior and time of each classifier on each task of the UCI benchmark."""
    found = {tuple(key.rsplit(", ", 1)): v for key, v in results.items() if isinstance(v, dict)}
    found = {key: v for key, v in found.items() if "true_prior" in v}
    tasks, classifiers = (list(dict.fromkeys(key[i] for key in found)) for i in range(2))
    header = ["task", "true prior"]
    for name in classifiers:
        header += [f"`{name}`", "prior", "time"]
    return markdown(header, (_measured_line(task, classifiers, found) for task in tasks))


def _measured_line(task: str, classifiers: list[str], found: dict) -> list[str]:
    line = [task, f"{found[task, classifiers[0]]['true_prior']:.2f}"]
    for name in classifiers:
        value = found[task, name]
        line.append(f"{value['accuracy']:.1f} ± {value['accuracy_std']:.1f}")
        line += [f"{value['prior']:.2f}", f"{value['seconds']:.1f} s"]
    return line


def priors_table(results: dict[str, Any]) -> str:
    """Mean error and mean time of each prior estimator over all mixtures."""
    lines = results["mixtures"]["lines"]
    names = lines[0]["methods"]
    means = {
        name: {what: fmean(line["methods"][name][what] for line in lines) for what in _MEANS}
        for name in names
    }
    ordered = sorted(names, key=lambda name: means[name]["error"])
    header = ["estimator", "mean absolute error", "mean seconds"]
    return markdown(
        header,
        ([f"`{n}`", f"{means[n]['error']:.3f}", f"{means[n]['seconds']:.2g}"] for n in ordered),
    )


_MEANS = ("error", "seconds")


def scale_table(results: dict[str, Any]) -> str:
    """Time and memory by the number of rows; the last line of each kind is a projection."""
    header = ["rows", "kind", "time", "of a row", "peak memory", "accuracy"]
    lines = []
    for kind, runs in results["runs"].items():
        for run in runs:
            lines.append(
                [
                    f"{run['rows']:,}",
                    kind,
                    f"{run['seconds']:.0f} s",
                    f"{1e6 * run['seconds'] / run['rows']:.1f} µs",
                    f"{run['peak_mib'] / 1024:.2f} GiB",
                    f"{100 * run['accuracy']:.1f}%",
                ]
            )
        line = results["line"][kind]
        hours = (line["start_s"] + 1e3 * line["a_row_us"]) / 3600
        each = f"{line['a_row_us']:.1f} µs"
        lines.append(["*1,000,000,000*", kind, f"*about {hours:.1f} h*", each, "", ""])
    return markdown(header, lines)


def ray_table(results: dict[str, Any]) -> str:
    """What a second worker gains."""
    header = ["", "one worker", "two workers", "gain", "gain without the start"]
    lines = []
    for name, what in (("predict", "rows"), ("sweep", "seeds")):
        found = results[name]
        runs = found["seconds of each run"]
        times = [f"{median(runs[f'long {workers}']):.1f} s" for workers in (1, 2)]
        gains = (found["ratio of the whole command"], found["ratio without its start"])
        label = f"{name}, {found[what]:,} {what}"
        lines.append([label, *times, *(f"{gain:.2f}" for gain in gains)])
    return markdown(header, lines)


def replaced(page: Path, text: str, name: str, table: str) -> str:
    """The text with a table between the two markers of that name."""
    pattern = rf"(<!-- {name}: begin -->\n).*?(<!-- {name}: end -->)"
    if len(re.findall(pattern, text, re.DOTALL)) != 1:
        raise SystemExit(f"{page} must have the markers of {name!r} once")
    return re.sub(pattern, lambda m: f"{m[1]}\n{table}\n\n{m[2]}", text, flags=re.DOTALL)


def main() -> None:
    """Write or check."""
    measured = {
        name: json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
        for name in ("uci", "priors", "scale", "ray")
    }
    tables = {
        METHODS: {
            "methods": methods_table(comparison()),
            "measured": measured_table(measured["uci"]),
        },
        PRIORS: {"priors": priors_table(measured["priors"])},
        SCALE: {"scale": scale_table(measured["scale"]), "ray": ray_table(measured["ray"])},
    }
    for page, parts in tables.items():
        new = old = page.read_text(encoding="utf-8")
        for name, table in parts.items():
            new = replaced(page, new, name, table)
        if "--check" not in sys.argv[1:]:
            page.write_text(new, encoding="utf-8")
        elif new != old:
            raise SystemExit(f"{page} is stale: run python docs/make_comparison.py")


if __name__ == "__main__":
    main()
