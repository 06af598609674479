"""What a check says: a finding, and the code that names its kind."""

from dataclasses import asdict, dataclass
from typing import Any

SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True)
class Code:
    """A kind of finding. Its code never changes its meaning, and is not used again.

    Attributes
    ----------
    code : str
        Such as ``"PU001"``.
    title : str
    severities : tuple of str
        Those that its findings can have, the gravest first.
    why : str
        Why it matters.
    todo : str
        What to do.
    """

    code: str
    title: str
    severities: tuple[str, ...]
    why: str
    todo: str


@dataclass(frozen=True)
class Finding:
    """One thing that was found in a table.

    Attributes
    ----------
    code, title : str
        The kind of finding, as in :data:`CODES`.
    severity : {"error", "warning", "note"}
        An error makes any result wrong, or stops a fit. A warning is a doubt that needs an answer.
        A note is worth knowing, and may be as it should be.
    seen : str
        What was seen, with numbers.
    why, todo : str
        Why it matters, and what to do.
    columns : tuple of str
        The names of the columns concerned.
    rows : tuple of int
        A few of the rows concerned, counted from 0.
    value : float or None
        The number that the finding rests on; the page on codes says which.
    """

    code: str
    severity: str
    title: str
    seen: str
    why: str
    todo: str
    columns: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    value: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain values that JSON can hold."""
        plain = asdict(self)
        return {**plain, "columns": list(self.columns), "rows": list(self.rows)}
