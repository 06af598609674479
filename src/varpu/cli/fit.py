"""``varpu fit``: learn from a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.progress import Task

    from varpu.tabular import TableModel

_TABLE = "CSV, TSV or JSON lines (also .gz, .bz2, .xz, .zst), Parquet, Arrow or Feather."


def fit(
    out: Annotated[Path, typer.Option(metavar="MODEL", help="The folder to write.")],
    table: Annotated[Path | None, typer.Argument(metavar="TABLE", help=_TABLE)] = None,
    label: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Marks the positives; empty means unlabelled."),
    ] = None,
    positive: Annotated[
        str | None, typer.Option(metavar="VALUE", help="Its value for positives.")
    ] = None,
    positives: Annotated[
        Path | None, typer.Option(metavar="TABLE", help="Positives, as a table of their own.")
    ] = None,
    unlabeled: Annotated[
        Path | None, typer.Option(metavar="TABLE", help="Unlabelled rows, with --positives.")
    ] = None,
    id: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="Names the rows.")
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Do not learn from it; may be given several times."),
    ] = None,
    scenario: Annotated[
        str | None,
        typer.Option(
            help="single-set: positives were labelled within the table; case-control: they were"
            " collected apart. Default: single-set, or case-control for two tables."
        ),
    ] = None,
    prior: Annotated[
        float | None, typer.Option(help="The share of positives, if it is known.")
    ] = None,
    time_budget: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Begin no further model after it.")
    ] = None,
    stream: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="trees or network: for a Parquet or Arrow table, or a folder of such, that is"
            " larger than memory.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Decides everything that is random.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace a model that exists.")] = False,
) -> None:
    """Learn from a table in which some rows are labelled positive and the others are not labelled.

    Example: varpu fit customers.csv --label churned --id customer --out churn

    Example: varpu fit --positives known.csv --unlabeled all.parquet --out model

    Example: torchrun --nproc-per-node 2 -m varpu fit customers.csv --label churned --out churn
    """
    from varpu.tabular.folder import check_target
    from varpu.world import joined_world

    two = positives is not None and unlabeled is not None
    about: dict[str, Any] = {
        "positive": positive,
        "id": id,
        "drop": drop or (),
        "scenario": scenario or ("case-control" if two else "single-set"),
        "prior": prior,
        "random_state": seed,
    }
    # Under torchrun each process takes its part; the first speaks and writes for all.
    with joined_world() as world:
        _check(table, label, positive, positives, unlabeled)
        check_target(out, force)
        with _Watch(time_budget, world.is_first) as watch:
            if stream is not None:
                model = _streamed(watch, stream, table, label, time_budget, about)
            else:
                model = _in_memory(watch, table, label, positives, unlabeled, time_budget, about)
            if two and scenario is None:
                note = "two tables are taken as case-control: positives were collected apart"
                model.summary["warnings"].insert(0, note)
            if world.is_first:
                watch.stage("writing")
                model.save(out, force=force)
    if world.is_first:
        _show(model, out)


def _check(
    table: Path | None,
    label: str | None,
    positive: str | None,
    positives: Path | None,
    unlabeled: Path | None,
) -> None:
    from varpu.exceptions import PUInputError

    two = positives is not None and unlabeled is not None
    if two == (table is not None) or (positives is None) != (unlabeled is None):
        raise PUInputError("give one TABLE with --label, or both --positives and --unlabeled")
    if two and (label is not None or positive is not None):
        raise PUInputError("--label and --positive are for one TABLE; two tables say it themselves")
    if table is not None and label is None:
        raise PUInputError("say by --label which column marks the positives")


def _in_memory(
    watch: "_Watch",
    table: Path | None,
    label: str | None,
    positives: Path | None,
    unlabeled: Path | None,
    time_budget: float | None,
    about: dict[str, Any],
) -> "TableModel":
    from varpu.tabular import TableModel

    frame, label, notes = _read(watch, table, label, positives, unlabeled, about["id"])
    watch.size(*frame.shape)
    model = TableModel.fit(
        frame, label=label, time_budget=time_budget, progress=watch.stage, **about
    )
    model.summary["warnings"] = notes + model.summary["warnings"]
    return model


def _streamed(
    watch: "_Watch",
    kind: str,
    table: Path | None,
    label: str | None,
    time_budget: float | None,
    about: dict[str, Any],
) -> "TableModel":
    from varpu.exceptions import PUInputError

    if table is None or label is None:
        raise PUInputError("--stream takes one TABLE with --label")
    if time_budget is not None:
        raise PUInputError("--stream goes over the table once: it has no use for --time-budget")

    from varpu.scaleout import fit_table_stream

    return fit_table_stream(table, kind, label=label, progress=watch.stage, **about)


def _read(
    watch: "_Watch",
    table: Path | None,
    label: str | None,
    positives: Path | None,
    unlabeled: Path | None,
    id: str | None,
) -> tuple[Any, str, list[str]]:
    from varpu.tabular import joined_tables, read_table

    as_text = () if id is None else (id,)
    if table is not None and label is not None:
        watch.stage(f"reading {table.name}")
        return read_table(table, as_text=as_text, seen=watch.share), label, []
    assert positives is not None
    assert unlabeled is not None
    frames = []
    for path in (positives, unlabeled):
        watch.stage(f"reading {path.name}")
        frames.append(read_table(path, as_text=as_text, seen=watch.share))
    frame, label, left_out = joined_tables(*frames)
    if not left_out:
        return frame, label, []
    shown = ", ".join(map(repr, left_out[:10])) + (", ..." if len(left_out) > 10 else "")
    return frame, label, [f"columns that only one table has are left out: {shown}"]


def _show(model: "TableModel", out: Path) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    found = model.summary
    console = Console(highlight=False, soft_wrap=True)
    low, high = found["prior_interval"]
    between = f"90% interval {low:.3f} to {high:.3f}" if low < high else "as given"
    console.print(
        f"rows       {found['rows']:,}, of which {found['positives']:,} labelled positive"
    )
    console.print(f"prior      {found['prior']:.3f} ({between}), {found['scenario']}")
    used = found["columns"]["used"]
    kinds = [line["kind"] for line in used]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    console.print(f"columns    {len(used)} used: {counts}")
    for line in found["columns"]["left_out"]:
        console.print(escape(f"  left out {line['column']}: {line['note']}"))
    console.print(f"held-out L_var {found['held_out_loss']:.4f}; lower is better. Compared:")
    table = Table("model", box=None, pad_edge=False, header_style="")
    for name in ("L_var", "weight", "seconds"):
        table.add_column(name, justify="right")
    for line in found["candidates"]:
        if not line["note"]:
            cells = [_cell(line[key], form) for key, form in _CELLS]
            table.add_row(escape(line["candidate"]), *cells)
    console.print(table)
    skipped = sum(bool(line["note"]) for line in found["candidates"])
    if skipped:
        console.print(f"{skipped} more not fitted, for want of time or hope")
    for text in found["warnings"]:
        console.print(escape(f"note: {text}"))
    console.print(escape(f"wrote {out} in {found['seconds']:.0f} s. Next:"))
    console.print(escape(f"  varpu predict {out} NEW.csv --out scored.csv"))


_CELLS = (("held_out_loss", ".4f"), ("weight", ".2f"), ("seconds", ".1f"))


def _cell(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


class _Watch:
    """What is being done, and about how long it will take, where someone watches a terminal."""

    def __init__(self, time_budget: float | None, shown: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn

        class Left(ProgressColumn):
            """Time left, as far as it can be guessed."""

            def render(self, task: "Task") -> Any:
                from rich.text import Text

                return Text(_left(task.fields["seconds"], task.elapsed or 0.0))

        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(20), TimeElapsedColumn(), Left())
        self._bar = Progress(
            *columns,
            console=console,
            transient=True,
            disable=not (console.is_terminal and shown),
        )
        self._task: Any = None
        self._budget, self._seconds = time_budget, 0.0

    def __enter__(self) -> "_Watch":
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def size(self, rows: int, columns: int) -> None:
        """From the size of the table, guess how long fitting takes."""
        from varpu.tabular.summary import expected_seconds

        self._seconds = expected_seconds(rows, columns, self._budget)

    def stage(self, name: str) -> None:
        if self._task is not None:
            self._bar.remove_task(self._task)
        seconds = self._seconds if name == "fitting" else None
        self._task = self._bar.add_task(name, total=None, seconds=seconds)

    def share(self, read: float) -> None:
        self._bar.update(self._task, total=1.0, completed=read)


def _left(seconds: float | None, elapsed: float) -> str:
    if seconds is None:
        return ""
    left = seconds - elapsed
    if left < 5:
        return "nearly there" if left > -5 else "takes longer than usual"
    return f"about {left:.0f} s left" if left < 100 else f"about {left / 60:.0f} min left"
