"""A table larger than memory in, a model of tables out."""

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from varpu.base import BasePUClassifier
from varpu.checks import one_of
from varpu.exceptions import require_extra
from varpu.scaleout.parquet import ParquetRows
from varpu.scaleout.sources import Paths
from varpu.tabular import TableModel
from varpu.tabular.summary import summarize

KINDS = {"trees": "xgboost", "network": "torch"}


def fit_table_stream(
    paths: Paths,
    kind: str,
    *,
    label: str,
    positive: Any = None,
    id: str | None = None,
    drop: Sequence[str] = (),
    scenario: str = "single-set",
    prior: float | None = None,
    random_state: int = 0,
    progress: Callable[[str], None] | None = None,
) -> TableModel:
    """Learn from a table that is read in pieces, and never held whole.

    A tenth of the rows, 200,000 at most, is held out instead of cross-fitting: on it the fit is
    stopped, the scores are recalibrated and the prior is read.

    Parameters
    ----------
    paths : path or sequence of paths
        Parquet or Arrow files, or folders of them.
    kind : {"trees", "network"}
        Boosted trees (XGBoost, with what it keeps of the table on disk) or a network.
    label, positive, id, drop, scenario, prior, random_state, progress
        As in :meth:`varpu.tabular.TableModel.fit`.

    Returns
    -------
    TableModel
        Its ``labelled`` and ``out_of_fold`` are those of the rows held out.
    """
    one_of("kind", kind, tuple(KINDS))
    require_extra(KINDS[kind])
    began = time.monotonic()
    stage = progress or (lambda name: None)
    stage("looking at the table")
    rows = ParquetRows(
        paths,
        label=label,
        positive=positive,
        id=id,
        drop=drop,
        scenario=scenario,
        random_state=random_state,
    )
    stage("fitting, piece by piece")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        classifier = _classifier(kind, rows, prior)
    notes = list(
        dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, UserWarning))
    )
    notes.append(
        f"the table was read in pieces; {rows.held_out_share:.2g} of the labelled rows were held"
        " out to stop the fit and to read the prior on"
    )
    labelled = rows.held_out_labels()
    summary = summarize(classifier, rows.encoder, labelled, scenario, notes)
    summary |= {"rows": rows.n_rows, "positives": rows.n_positive}
    summary["seconds"] = time.monotonic() - began
    about: dict[str, Any] = {"label": label, "positive": rows.positive, "id": id}
    return TableModel(classifier, rows.encoder, **about, summary=summary, labelled=labelled)


def _classifier(kind: str, rows: ParquetRows, prior: float | None) -> BasePUClassifier:
    if kind == "trees":
        from varpu.scaleout.trees import fit_trees_stream

        return fit_trees_stream(rows, prior=prior)
    from varpu.scaleout.networks import fit_network_stream

    return fit_network_stream(rows, prior=prior, progress=False)


__all__ = ["KINDS", "fit_table_stream"]
