"""Experiments from their files: one TOML file each, checked when it is read."""

import tomllib
from collections.abc import Iterable
from dataclasses import fields, replace
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar

from varpu.exceptions import PUInputError
from varpu.paper.naming import known
from varpu.paper.specs import KEYS, KINDS, LAMBDAS, Case, Column, Experiment, Fault, PaperValue, Row
from varpu.paper.specs import Unmeasured as Gap

__all__ = ["experiment", "names", "read", "register_experiments"]

T = TypeVar("T")

_folders: list[Path] = []
# The order of the paper, then what it does not have.
_ORDER = (
    *("table1", "table2", "table3", "table4", "figure2", "figure3", "table9", "table10"),
    *("figure4", "table11", "figure5", "table12", "table13", "table14", "extension", "faults"),
    *("priors_tables", "priors_images"),
)


def register_experiments(folder: str | Path) -> None:
    """Know the ``*.toml`` files of a folder as experiments too, each by the name of its file."""
    folder = Path(folder)
    if not folder.is_dir():
        raise PUInputError(f"register_experiments wants a folder of TOML files; got {folder}")
    if folder not in _folders:
        _folders.append(folder)


def names() -> list[str]:
    """The names of all experiments, those of the paper first and in its order."""
    found = _files()
    return sorted(found, key=lambda name: (_ORDER.index(name) if name in _ORDER else 99, name))


def experiment(name: str) -> Experiment:
    """The experiment of that name, such as ``"table2"``.

    Raises
    ------
    PUInputError
        If there is none, or its file is not as it should be.
    """
    files = _files()
    return read(known(name, files, "experiment"), files[name])


def _files() -> dict[str, Traversable]:
    own = resources.files("varpu.paper") / "experiments"
    folders: list[Traversable] = [own, *_folders]
    files = [file for folder in folders for file in folder.iterdir()]
    return {f.name.removesuffix(".toml"): f for f in files if f.name.endswith(".toml")}


def read(name: str, file: Traversable) -> Experiment:
    """Read and check a file."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
        return _experiment(name, content)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, PUInputError) as error:
        raise PUInputError(f"the experiment file {file.name}: {error}") from None


def _experiment(name: str, content: dict[str, Any]) -> Experiment:
    kind = content.get("kind")
    if kind not in KINDS:
        raise PUInputError(f"kind is one of {', '.join(KINDS)}; got {kind!r}")
    row_key, column_key = KEYS.get(kind, ("", ""))
    content["columns"] = [_keyed(Column, line, column_key) for line in content.get("columns", [])]
    content["rows"] = _with_values([_row(line, row_key) for line in content.get("rows", [])])
    content["faults"] = [_fault(line) for line in content.get("faults", [])]
    content["unmeasured"] = [
        _made(Gap, line, "unmeasured") for line in content.pop("unmeasured", [])
    ]
    made = _made(Experiment, {"name": name, **content}, "the file")
    _check(made)
    return made


def _made(kind: type[T], line: dict[str, Any], where: str) -> T:
    """A dataclass from a TOML table; lists become tuples, texts lose white space around them."""
    allowed = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    if strange := line.keys() - allowed:
        raise PUInputError(f"{where} has no place for {', '.join(sorted(strange))}")
    values = {
        key: tuple(value) if isinstance(value, list) else value for key, value in line.items()
    }
    values = {key: v.strip() if isinstance(v, str) else v for key, v in values.items()}
    try:
        return kind(**values)
    except TypeError as error:
        raise PUInputError(f"{where} lacks something: {error}") from None


def _keyed(kind: type[T], line: dict[str, Any], key: str) -> T:
    line = dict(line)
    if key not in line:
        raise PUInputError(f"each {kind.__name__.lower()} names its {key}; got {line}")
    return _made(kind, {"key": line.pop(key), **line}, f"the {kind.__name__.lower()} {line}")


def _row(line: dict[str, Any], key: str) -> Row:
    paper = {column: PaperValue.parse(value) for column, value in line.get("paper", {}).items()}
    return _keyed(Row, {**line, "paper": paper}, key)


def _with_values(rows: list[Row]) -> list[Row]:
    """A row with another λ stands beside the same values of the paper as its method's own."""
    own = {row.key: row.paper for row in rows if row.lam == "chosen"}
    return [
        row if row.lam == "chosen" else replace(row, paper=own.get(row.key, {})) for row in rows
    ]


def _fault(line: dict[str, Any]) -> Fault:
    cases = [_made(Case, case, f"the case {case}") for case in line.get("cases", [])]
    return _made(Fault, {**line, "cases": cases}, "a fault")


def _check(made: Experiment) -> None:
    """What types do not say: nothing twice, nothing empty, no value without a column."""
    if made.kind == "faults":
        if not made.faults or not all(fault.cases for fault in made.faults):
            raise PUInputError("faults are wanted, each with cases")
        if any(len(fault.columns) != 2 for fault in made.faults):
            raise PUInputError("a fault has two columns: with it, and without")
        return
    columns = [column.key for column in made.columns]
    rows = [row.name for row in made.rows]
    for what, keys in (("columns", columns), ("rows", rows)):
        if not keys or _twice(keys):
            raise PUInputError(f"{what} are wanted, none of them twice; got {keys}")
    for row in made.rows:
        if isinstance(row.lam, str) and row.lam not in LAMBDAS:
            raise PUInputError(
                f"lam of a row is a number or one of {', '.join(LAMBDAS)}; got {row.lam!r}"
            )
        if lost := row.paper.keys() - set(columns):
            raise PUInputError(f"row {row.label!r} has values for no column: {sorted(lost)}")
    if lost := {task for gap in made.unmeasured for task in gap.tasks} - set(columns):
        raise PUInputError(f"unmeasured tasks that are no column: {sorted(lost)}")
    if made.kind == "lines" and any(column.x is None for column in made.columns):
        raise PUInputError("each column of a figure of lines has an x")
    if made.seeds is not None and made.seeds < 1:
        raise PUInputError(f"seeds is 1 or more; got {made.seeds}")


def _twice(keys: Iterable[str]) -> bool:
    keys = list(keys)
    return len(set(keys)) < len(keys)
