"""From a table as people keep it to columns that the classifiers take."""

import difflib
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from varpu.base import arrays_under
from varpu.exceptions import PUInputError
from varpu.tabular.kinds import DATE_PARTS, Column, learn_column
from varpu.tabular.text import TextColumn
from varpu.tabular.values import as_numbers, as_text, as_times, as_truth

_DAY = np.timedelta64(1, "D")


class TableEncoder:
    """Find out what each column is, and turn tables into numbers and categories.

    Numbers and truth values become floats; few distinct strings, and codes, pandas categories;
    dates a number of days with year, month, weekday and hour beside; free text about 50 columns
    (TF-IDF, reduced). Ids and constant columns are left out. Missing values stay missing.

    Parameters
    ----------
    random_state : int, default=0
        Decides the reduction of text.

    Attributes
    ----------
    columns_ : DataFrame
        For each ``column`` the ``kind`` it was taken for, how many columns were ``made`` of it,
        and a ``note``: why it was left out, or what is worth knowing.
    names_ : list of str
        The columns that :meth:`transform` makes.

    Examples
    --------
    >>> import pandas as pd
    >>> from varpu.tabular import TableEncoder
    >>> frame = pd.DataFrame({"id": range(30), "size": [1.5, None, 2] * 10, "colour": ["a"] * 30})
    >>> TableEncoder().fit(frame).columns_[["column", "kind"]].to_numpy().tolist()
    [['id', 'left out'], ['size', 'number'], ['colour', 'left out']]
    """

    columns_: pd.DataFrame
    names_: list[str]

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, frame: pd.DataFrame) -> Self:
        """Learn what the columns are; rows are only looked at, no label is."""
        names = [str(name) for name in frame.columns]
        if len(set(names)) < len(names):
            raise PUInputError("column names must differ from one another")
        if len(frame) == 0:
            raise PUInputError("the table has no rows")
        learned = [
            learn_column(name, frame.iloc[:, i], self.random_state) for i, name in enumerate(names)
        ]
        if not any(column.size for column in learned):
            why = "; ".join(f"{column.name!r}: {column.note}" for column in learned[:10])
            raise PUInputError(f"the table has no column to learn from ({why or 'none at all'})")
        self._take(learned)
        return self

    def transform(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The columns to learn from: floats and categories, always the same ones in one order."""
        self.check(frame)
        named = {str(name): i for i, name in enumerate(frame.columns)}
        made: list[Any] = []
        for column in self._used:
            made += _encode(column, frame.iloc[:, named[column.name]])
        table = dict(zip(self.names_, made, strict=True))
        return pd.DataFrame(table, index=pd.RangeIndex(len(frame)), copy=False)

    def check(self, frame: pd.DataFrame) -> list[str]:
        """Compare a table's columns with those of fit.

        Returns
        -------
        list of str
            What differs and does no harm: further columns, another order.

        Raises
        ------
        PUInputError
            If a column is missing.
        """
        came = [str(name) for name in frame.columns]
        wanted = [column.name for column in self._used]
        missing = [name for name in wanted if name not in set(came)]
        if missing:
            raise PUInputError(
                "the table lacks columns that the model uses: "
                + ", ".join(repr(name) + _near(name, came, wanted) for name in missing[:10])
                + (f" and {len(missing) - 10} more" if len(missing) > 10 else "")
            )
        known = {column.name for column in self._columns}
        notes = []
        extra = [name for name in came if name not in known]
        if extra:
            shown = ", ".join(map(repr, extra[:5])) + (", ..." if len(extra) > 5 else "")
            notes.append(f"{len(extra)} columns that the model does not know are ignored: {shown}")
        if [name for name in came if name in set(wanted)] != wanted:
            notes.append("the columns are in another order than in fit; they are found by name")
        return notes

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """As JSON values and arrays."""
        fields: list[dict[str, Any]] = []
        arrays: dict[str, NDArray[Any]] = {}
        for i, column in enumerate(self._columns):
            own = {name: value for name, value in vars(column).items() if name != "text"}
            if column.text is not None:
                own["text"], more = column.text.to_state()
                arrays |= {f"{i}.{name}": value for name, value in more.items()}
            fields.append(own)
        return {"random_state": self.random_state, "columns": fields}, arrays

    @classmethod
    def from_state(cls, fields: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """What :meth:`to_state` gave."""
        encoder = cls(fields["random_state"])
        learned = []
        for i, own in enumerate(fields["columns"]):
            text = own.get("text")
            if text is not None:
                text = TextColumn.from_state(text, arrays_under(f"{i}.", arrays))
            learned.append(Column(**{**own, "text": text}))
        encoder._take(learned)
        return encoder

    def _take(self, learned: list[Column]) -> None:
        self._columns = learned
        self._used = [column for column in learned if column.size]
        taken: set[str] = {column.name for column in self._used}
        self.names_ = []
        for column in self._used:
            self.names_ += _made_names(column, taken)
        self.columns_ = pd.DataFrame(
            [(column.name, column.kind, column.size, column.note) for column in learned],
            columns=["column", "kind", "made", "note"],
        )


def _encode(column: Column, values: pd.Series) -> list[Any]:
    if column.kind == "number":
        return [as_numbers(values)]
    if column.kind == "boolean":
        return [as_truth(values)]
    if column.kind == "category":
        return [_as_category(values, column.levels)]
    if column.kind == "date":
        times = as_times(values, column.date_format)
        days = (times - pd.Timestamp(0)) / _DAY
        parts = [getattr(times.dt, DATE_PARTS[part]) for part in column.parts]
        return [part.to_numpy(np.float64, na_value=np.nan) for part in (days, *parts)]
    assert column.text is not None
    return list(column.text.transform(as_text(values)).T)


def _as_category(values: pd.Series, levels: list[str]) -> pd.Categorical:
    # Arrow looks values up without making Python strings of them.
    text = pa.array(as_text(values), type=pa.large_string(), from_pandas=True)
    known = pa.array(levels, type=pa.large_string())
    place = pyarrow.compute.index_in(text, value_set=known, skip_nulls=True)
    codes = pyarrow.compute.fill_null(place, -1).to_numpy(zero_copy_only=False)
    return pd.Categorical.from_codes(codes, categories=levels)


def _made_names(column: Column, taken: set[str]) -> list[str]:
    if column.text is not None:
        ends = [f".text{i + 1}" for i in range(column.size)]
    else:
        ends = ["", *(f".{part}" for part in column.parts)]
    names = []
    for end in ends:
        name = column.name + end
        while end and name in taken:
            name += "_"
        taken.add(name)
        names.append(name)
    return names


def _near(name: str, came: list[str], wanted: list[str]) -> str:
    others = [other for other in came if other not in set(wanted)]
    near = difflib.get_close_matches(name, others, 1)
    return f" (there is {near[0]!r})" if near else ""
