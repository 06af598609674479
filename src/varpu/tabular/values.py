"""Columns of a frame as text, numbers, truth values and times, where that is safe."""

import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from varpu.exceptions import PUInputError

Floats = NDArray[np.float64]

TRUE_WORDS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}
DATE_FORMATS = ("ISO8601", "%d.%m.%Y", "%d.%m.%Y %H:%M", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d")
_LOOKS_LIKE_DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}")


def is_text(column: pd.Series) -> bool:
    """Whether a column holds strings, or whatever else is neither number nor time."""
    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        return is_text(column.cat.categories.to_series())
    return bool(pd.api.types.is_object_dtype(kind) or pd.api.types.is_string_dtype(kind))


def plain(column: pd.Series) -> pd.Series:
    """A column without pandas categories; decimals and truth values with gaps as numbers."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    if pd.api.types.is_timedelta64_dtype(column.dtype):
        return column.dt.total_seconds()
    if not pd.api.types.is_object_dtype(column.dtype):
        return column
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind == "boolean":
        return column.astype("boolean")
    if kind in ("integer", "floating", "mixed-integer-float", "decimal"):
        return pd.to_numeric(column.astype(float))
    return column


def as_text(column: pd.Series) -> pd.Series:
    """Every value as a string, so that 3, 3.0 and "3" are one; missing values stay missing."""
    column = plain(column)
    if is_text(column):
        known = column.notna()
        if not pd.api.types.is_string_dtype(column.dtype) or column.dtype == object:
            column = column.astype(object).where(known, None)
            column = column.map(lambda value: value if isinstance(value, str) else str(value))
            column = column.where(known, None)
        return column.mask(known & (column == ""))
    if pd.api.types.is_bool_dtype(column.dtype):
        words = column.map({True: "true", False: "false"})
        return words.astype(object).where(column.notna(), None)
    if pd.api.types.is_float_dtype(column.dtype):
        numbers = column.to_numpy(np.float64, na_value=np.nan)
        known = numbers[np.isfinite(numbers)]
        if np.array_equal(known, np.floor(known)) and (np.abs(known) < 2**53).all():
            column = pd.Series(numbers, index=column.index).where(np.isfinite(numbers))
            column = column.astype("Int64")
    return column.astype(object).where(column.notna(), None).map(str, na_action="ignore")


def as_numbers(column: pd.Series, wanted: str = "numbers") -> Floats:
    """A column as floats, missing and infinite values as NaN; text where all of it is numbers."""
    column = plain(column)
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column):
        numbers = column.to_numpy(np.float64, na_value=np.nan)
    elif is_text(column):
        text = as_text(column)
        numbers = np.asarray(pd.to_numeric(text, errors="coerce"), dtype=np.float64)
        lost = np.isnan(numbers) & text.notna().to_numpy()
        if lost.any():
            _refuse(column, wanted, text[lost].iloc[0])
    else:
        _refuse(column, wanted, column[column.notna()].iloc[0])
    return np.where(np.isinf(numbers), np.nan, numbers) if np.isinf(numbers).any() else numbers


def as_truth(column: pd.Series) -> Floats:
    """Truth values as 1 and 0."""
    column = plain(column)
    if is_text(column):
        text = as_text(column)
        lower = text.str.lower()
        known = lower.isin(TRUE_WORDS)
        if (known | text.isna()).all():
            return lower.map(TRUE_WORDS).to_numpy(np.float64, na_value=np.nan)
    return as_numbers(column, "true or false")


def as_times(column: pd.Series, date_format: str) -> pd.Series:
    """Times without a zone (UTC), from text by the format that was found in fit."""
    column = plain(column)
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        times = column
    elif is_text(column):
        text = as_text(column)
        times = parse_times(text, date_format)
        if times is None and date_format != "ISO8601":
            times = parse_times(text, "ISO8601")
        if times is None:
            _refuse(column, f"dates ({date_format})", text[text.notna()].iloc[0])
    else:
        _refuse(column, "dates", column[column.notna()].iloc[0] if column.notna().any() else None)
    return times.dt.tz_localize(None) if times.dt.tz is None else times.dt.tz_convert(None)


def parse_times(text: pd.Series, date_format: str) -> Any:
    """Strings as times, or None if one does not have this format."""
    try:
        zoned = date_format == "ISO8601"
        return pd.to_datetime(text, format=date_format, utc=zoned)
    except (ValueError, TypeError, OverflowError):
        return None


def date_format_of(text: pd.Series) -> str | None:
    """The format that all strings have, if they are dates."""
    sample = text.head(1000)
    if not sample.str.match(_LOOKS_LIKE_DATE).all():
        return None
    return next(
        (
            form
            for form in DATE_FORMATS
            if parse_times(sample, form) is not None and parse_times(text, form) is not None
        ),
        None,
    )


def _refuse(column: pd.Series, wanted: str, value: Any) -> None:
    if value is None:
        found = str(column.dtype)
    else:
        shown = str(value)
        found = repr(shown if len(shown) <= 40 else shown[:40] + "...")
    raise PUInputError(f"column {column.name!r}: wanted {wanted}, as in fit; found {found}")
