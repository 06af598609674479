"""An experiment's table on a terminal, where a line is short: each cell has three."""

from rich.console import Console
from rich.table import Table

from varpu.paper.comparing import Entry, entries
from varpu.paper.results import Store
from varpu.paper.specs import Experiment
from varpu.paper.tables import gaps, grid, markdown, ours_text, remarks_of

__all__ = ["print_table"]

COLOURS = {"agree": "green", "overlap": "blue", "above": "cyan", "below": "yellow", "differ": "red"}


def print_table(experiment: Experiment, store: Store, console: Console) -> None:
    """Print it: the paper's value, ours below it, then the difference and the verdict."""
    if experiment.kind == "faults":  # its tables are narrow as they are
        console.print(markdown(experiment, store), markup=False, highlight=False)
        return
    found = entries(experiment, store)
    header, lines = grid(experiment, found, _three_lines)
    table = Table(title=f"{experiment.title}: {experiment.caption}", show_lines=True)
    for name in header:
        table.add_column(name, no_wrap=bool(name))
    for line in lines:
        table.add_row(*line)
    console.print(table)
    said = [f"{gap.reason}\n  " + "\n  ".join(gap.commands) for gap in gaps(experiment, found)]
    if any(entry.paper for entry in found):
        said.insert(0, "First the paper's value, then ours.")
    if experiment.notes:
        said.append(experiment.notes)
    for text in said:
        console.print(text, markup=False, highlight=False)


def _three_lines(experiment: Experiment, entry: Entry) -> str:
    remarks = ", ".join(remarks_of(experiment, entry))
    colour = COLOURS.get(entry.verdict)
    if remarks and colour:
        remarks = f"[{colour}]{remarks}[/]"
    parts = [entry.paper.text if entry.paper else "", ours_text(experiment, entry), remarks]
    return "\n".join(part for part in parts if part)
