"""What ``varpu demo`` shows: PU learning on handwritten digits that ship with scikit-learn."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from varpu import PUClassifier, PUReport
from varpu.report.report import check_place

_HIDDEN = (128, 128, 128)
_FAMILIES = ("trees", "kernels")  # networks add little here, and take ten times as long
_LABELLED_SHARE = 0.4
_COMMAND = "varpu demo --seed {seed}"


def run_demo(*, seed: int, out: Path) -> None:
    """Hide most labels of the even digits, learn from what is left, and show what was found."""
    check_place(out)
    console = Console()
    X, digit = load_digits(return_X_y=True, as_frame=True)
    X, X_test, even, even_test = train_test_split(
        X, digit.to_numpy() % 2 == 0, test_size=0.4, random_state=seed, stratify=digit
    )
    labelled = _label_some(even, seed)
    console.print(
        f"Handwritten digits, even against odd.\n{labelled.sum()} of {len(X)} training images are"
        f" labelled as even; the other {(~labelled).sum()} are\nunlabelled, even and odd alike."
        " No odd digit is labelled.\n"
    )
    with threadpool_limits(1):  # more would gain little here, and cost much on a busy machine
        model = PUClassifier(families=_FAMILIES, n_jobs=1, random_state=seed).fit(X, labelled)
    network = make_pipeline(
        StandardScaler(), MLPClassifier(_HIDDEN, max_iter=500, random_state=seed)
    )

    table = Table("learned from", "accuracy", "AUC", caption=f"{len(X_test)} test images")
    for name, scores in [
        ("positives and unlabelled (varpu)", model.predict_proba(X_test)[:, 1]),
        ("unlabelled taken as negative", network.fit(X, labelled).predict_proba(X_test)[:, 1]),
        ("all true labels", network.fit(X, even).predict_proba(X_test)[:, 1]),
    ]:
        accuracy = accuracy_score(even_test, scores > 0.5)
        table.add_row(name, f"{accuracy:.1%}", f"{roc_auc_score(even_test, scores):.3f}")
    console.print(table)
    low, high = model.prior_interval_
    used = int((model.candidates_["weight"] > 0).sum())
    console.print(
        f"\nShare of even digits: found {model.prior_:.2f} (90% interval {low:.2f} to {high:.2f}),"
        f" true {even.mean():.2f}.\n{len(model.candidates_)} candidates compared and {used} blended"
        " without a single negative."
    )
    report = PUReport(
        model,
        X,
        labelled,
        title="Handwritten digits: which are even?",
        command=_COMMAND.format(seed=seed),
    )
    with threadpool_limits(1):
        report.save(out)
    # Not by the console, which would break a long path over lines.
    print(f"\nThe report: {out}", flush=True)


def _label_some(positive: NDArray[np.bool_], seed: int) -> NDArray[np.bool_]:
    rows = np.flatnonzero(positive)
    chosen = np.random.default_rng(seed).choice(
        rows, size=int(_LABELLED_SHARE * len(rows)), replace=False
    )
    labelled = np.zeros_like(positive)
    labelled[chosen] = True
    return labelled
