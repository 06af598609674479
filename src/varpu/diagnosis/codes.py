"""All codes, in order. Texts are short: the documentation says more under each code's heading."""

from typing import Any

import numpy as np

from varpu.diagnosis.finding import Code, Finding

_MOST_ROWS = 5

_ALL = (
    Code(
        "PU001",
        "A column alone tells labelled from unlabelled",
        ("error", "warning"),
        "Labels should be a random subset of the positives, so that unlabelled positives look like"
        " labelled ones. Where nearly every row with certain values is labelled, either the column"
        " was written because of the label, or rows were chosen by it, or hardly any positive is"
        " left to be found. A model will learn the column instead of the positives.",
        "Find out how the column came about. Leave it out if it is known only for labelled rows or"
        " was filled in after labelling.",
    ),
    Code(
        "PU002",
        "Labelled rows also stand unlabelled",
        ("warning", "note"),
        "The same row says both that it is positive and that this is not known. If labelled rows"
        " were copied into the unlabelled ones, methods take their copies for negatives, and the"
        " prior reads too high.",
        "Drop the unlabelled copies if they are the same objects. If rows are alike because columns"
        " have few values, all is well.",
    ),
    Code(
        "PU003",
        "Few labelled positives",
        ("error", "warning"),
        "Held-out losses, the prior and its interval rest on the labelled rows alone: with fewer"
        " than 100 the prior can be off by a tenth or more, and with fewer than 20 neither a"
        " comparison of models nor a probability can be trusted.",
        "Label more positives. Until then use the ranking only, and give the prior if you know it.",
    ),
    Code(
        "PU004",
        "The prior is near 0 or near 1",
        ("warning", "note"),
        "With hardly any positive among the unlabelled rows there is little to find, and every"
        " error is large beside the prior. If labelled rows look like all others, the columns tell"
        " nothing about the class, or nearly all rows are positive; data cannot say which.",
        "Near 0: see whether the unlabelled rows can hold positives at all. Near 1: see whether the"
        " columns have to do with the class, and give the prior if you know it.",
    ),
    Code(
        "PU005",
        "Labelled rows are unlike any unlabelled row",
        ("error", "warning"),
        "Positives among the unlabelled rows should look like the labelled ones. If none do, the"
        " two came from different places, or no positives are left: a model learns the difference"
        " between the sources, and says that almost no unlabelled row is positive.",
        "Compare how labelled and unlabelled rows were collected, measured and cleaned; look at the"
        " rows named. Keep only columns that are made in the same way for both.",
    ),
    Code(
        "PU006",
        "A constant column",
        ("note",),
        "It tells nothing, and often shows that a filter or a join went wrong.",
        "Leave it out, and see whether it should have had other values.",
    ),
    Code(
        "PU007",
        "A column that looks like an id",
        ("warning",),
        "A number or name for each row says nothing about rows to come, but it can say in which"
        " order, or from which file, rows came, and so give the label away.",
        "Leave it out of the columns that are learned from.",
    ),
    Code(
        "PU008",
        "Missing values follow the label",
        ("warning",),
        "Whether a value is missing differs between labelled and unlabelled rows. If labelled rows"
        " were filled in with more care, or came from another source, a model learns that.",
        "Find out why values are missing. Leave the column out, or fill it in the same way for all"
        " rows, unless gaps really go with the class.",
    ),
    Code(
        "PU009",
        "Many identical rows",
        ("warning", "note"),
        "Copies count as evidence although they tell nothing new: intervals come out too narrow,"
        " and copies on both sides of a split make any held-out measure flatter.",
        "Drop copies that are the same object. The cross-fitting of this library keeps copies in"
        " one fold.",
    ),
    Code(
        "PU010",
        "The order of rows follows the label",
        ("warning", "note"),
        "Labelled rows stand in one block. That is usual where two files were joined, and does no"
        " harm by itself; but columns that change along the file then tell the label, and splits"
        " by position have one kind of row only.",
        "Shuffle before any split by position, and see whether the columns named drift because of"
        " how the file was made.",
    ),
    Code(
        "PU011",
        "A column that is almost always missing",
        ("note",),
        "What few values there are can hardly help, and may stand for a process that no new row"
        " will have gone through.",
        "Leave it out, or see why it is empty.",
    ),
    Code(
        "PU012",
        "More labelled than unlabelled rows",
        ("note",),
        "The unlabelled rows stand for the population. Few of them make the prior and the class of"
        " negatives uncertain, and the usual picture is a few labels among many rows.",
        "See that labelled and unlabelled are not swapped, and add unlabelled rows if there are"
        " more.",
    ),
    Code(
        "PU013",
        "Infinite values",
        ("error",),
        "No classifier here takes them: a fit stops with an error.",
        "Make them missing (NaN), or cut them off at a large number that makes sense.",
    ),
    Code(
        "PU014",
        "Numbers written as text",
        ("warning",),
        "A few cells that are no numbers, or marks for thousands, turn a whole column into text;"
        " each number then is a category of its own and its size is lost.",
        "Mend the cells, or make them missing, and read the column as numbers.",
    ),
    Code(
        "PU015",
        "Labelled rows come from another period",
        ("warning",),
        "If labels were given in one period only, whatever changed with time, prices or habits,"
        " looks like a mark of positives.",
        "Keep the unlabelled rows of the same period, or leave the date out and expect worse"
        " results for other periods.",
    ),
    Code(
        "PU016",
        "Columns share a name",
        ("error",),
        "A model knows columns by name: it cannot tell these apart in a new table, and a fit on a"
        " table stops or takes one for the other.",
        "Rename them, or leave out those that are copies.",
    ),
)

CODES = {code.code: code for code in _ALL}


def make(code: str, severity: str, seen: str, *, rows: Any = (), **details: Any) -> Finding:
    """A finding of a kind, with the first few of the rows concerned."""
    kind = CODES[code]
    if severity not in kind.severities:
        raise ValueError(f"{code} is not {severity}")
    few = tuple(int(row) for row in np.asarray(rows, dtype=np.int64)[:_MOST_ROWS])
    return Finding(code, severity, kind.title, seen, kind.why, kind.todo, rows=few, **details)
