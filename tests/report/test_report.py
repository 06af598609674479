"""What a report says is what the model found."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from torch import nn

from varpu import PUReport, VPUBoostingClassifier, VPUClassifier
from varpu.exceptions import PUInputError, ScaleWarning
from varpu.metrics import pu_calibration_error, pu_roc_auc, variational_loss


def test_numbers_are_the_models(fitted, report):
    model, _, y = fitted
    found = report.to_dict()
    assert found["prior"]["value"] == model.prior_
    assert tuple(found["prior"]["interval"]) == model.prior_interval_
    assert found["estimate"]["positives"] == round(model.prior_ * len(y) - y.sum())
    assert found["data"] == {
        "rows": 500,
        "labelled": y.sum(),
        "unlabelled": (~y).sum(),
        "n_columns": 3,
        "columns": ["column 0", "column 1", "column 2"],
        "scenario": "single-set",
    }
    losses = [line["held_out_loss"] for line in found["candidates"]["table"]]
    assert losses == sorted(losses)
    assert losses == pytest.approx(sorted(model.candidates_["held_out_loss"]), rel=1e-5)


def test_the_fits_own_rows_are_scored_out_of_fold(fitted, report):
    model, _, y = fitted
    found = report.to_dict()
    scores = model.recalibration_(model.out_of_fold_log_ratio_)
    proba = np.exp(np.minimum(scores + np.log(model.prior_), 0))
    assert found["scores"]["out_of_fold"]
    assert found["estimate"]["marked"] == (proba[~y] > 0.5).sum()
    judged = found["diagnostics"]
    assert judged["loss"] == model.held_out_loss_
    assert judged["loss"] == pytest.approx(
        variational_loss(y, model.out_of_fold_log_ratio_, log=True), abs=1e-4
    )
    assert judged["recall"] == (proba[y] > 0.5).mean()
    assert judged["auc"] == pytest.approx(pu_roc_auc(y, scores, model.prior_))
    error = pu_calibration_error(y, proba, model.prior_)
    assert judged["calibration_error"] == pytest.approx(error)
    assert sum(found["scores"]["unlabelled"]) == (~y).sum()
    bins = judged["calibration"]
    by_hand = sum(abs(b["found"] - b["said"]) * b["rows"] / len(y) for b in bins if b["found"] < 1)
    assert by_hand <= judged["calibration_error"] + 1e-9


def test_other_rows_are_scored_by_the_model(fitted):
    model, X, y = fitted
    turned = PUReport(model, X[::-1], y[::-1], findings=[]).to_dict()
    assert not turned["scores"]["out_of_fold"]
    assert turned["estimate"]["marked"] == model.predict(X)[~y].sum()
    assert turned["diagnostics"]["loss"] == pytest.approx(
        variational_loss(y, model.log_ratio(X), log=True), abs=1e-4
    )


def test_rows_are_ranked(fitted):
    model, X, y = fitted
    ids = [f"row {i}" for i in range(len(y))]
    rows = PUReport(model, X, y, ids=ids, findings=[], max_rows=40).to_dict()["rows"]
    best = np.flatnonzero(~y)[np.argsort(-model.out_of_fold_log_ratio_[~y], kind="stable")][:40]
    assert [line[0] for line in rows["data"]] == list(range(1, 41))
    assert [line[1] for line in rows["data"]] == [f"row {i}" for i in best]
    assert [line[2] for line in rows["data"]] == sorted((r[2] for r in rows["data"]), reverse=True)
    assert rows["total"] == (~y).sum()
    place = [c["name"] for c in rows["columns"]].index("column 0")
    assert [line[place] for line in rows["data"]] == pytest.approx(X[best, 0], rel=1e-5)


def test_the_column_that_matters_is_found(report):
    columns = report.to_dict()["importance"]["columns"]
    assert columns[0]["column"] == "column 0"
    assert columns[0]["rise"] > 10 * abs(columns[1]["rise"])


def test_case_control_counts_unlabelled_rows_alone(fitted):
    _, X, y = fitted
    model = VPUBoostingClassifier(scenario="case-control", prior=0.3, max_rounds=20)
    found = PUReport(model.fit(X, y), X, y, findings=[]).to_dict()
    assert found["estimate"]["positives"] == round(0.3 * (~y).sum())
    assert "was given" in found["answer"]


@pytest.mark.parametrize(
    "model",
    [
        VPUBoostingClassifier(max_rounds=20, random_state=0),
        VPUClassifier(epochs=2, steps_per_epoch=4, cv=None, random_state=0),
    ],
    ids=["boosting", "network"],
)
def test_what_a_model_has_not_is_left_out(fitted, model):
    _, X, y = fitted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)  # of a network of two epochs
        report = PUReport(clone(model).fit(X, y), X, y, findings=[])
    assert report.to_dict()["candidates"] is None
    assert report.to_dict()["agreement"] is None
    assert "What was compared" not in report.html()
    assert "What was compared" not in report.markdown()
    with pytest.raises(PUInputError, match="no candidates"):
        report.plot_candidates()


def test_tables_of_other_kinds(fitted):
    _, X, y = fitted
    model = VPUBoostingClassifier(max_rounds=10, random_state=0)
    sparse = scipy.sparse.csr_array(X)
    found = PUReport(model.fit(sparse, y), sparse, y).to_dict()
    assert found["importance"] is None
    assert found["findings"] is None
    frame = pd.DataFrame(np.tile(X, 8)).rename(columns=str)  # more columns than are shuffled
    frame["flag"], frame["whole"] = X[:, 0] > 1, pd.array(X[:, 1].round(), dtype="Int64")
    frame["kind"] = pd.Categorical(np.where(X[:, 2] > 0, "up", "down"))
    frame.loc[3, "whole"] = pd.NA
    found = PUReport(model.fit(frame, y), frame, y, findings=[]).to_dict()
    assert len(found["importance"]["columns"]) == 20
    assert "7 columns" in found["importance"]["about"]
    images = X[:, :, None, None].repeat(2, axis=3).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)
        network = VPUClassifier(epochs=1, steps_per_epoch=2, cv=2, module=small, random_state=0)
        report = PUReport(network.fit(images, y), images, y)
    assert report.to_dict()["scores"]["out_of_fold"]
    assert "Columns that matter" not in report.html()


def small():
    return nn.Sequential(nn.Flatten(), nn.Linear(6, 1))


def test_without_a_table(fitted):
    model, _, y = fitted
    found = PUReport(model, None, y).to_dict()
    assert found["scores"]["out_of_fold"]
    assert found["importance"] is None
    assert found["findings"] is None
    assert len(found["rows"]["columns"]) == 4
    with pytest.raises(PUInputError, match="without a table"):
        PUReport(model, None, y[::-1]).to_dict()


def test_members_that_give_their_scores_are_compared(fitted):
    model, X, y = fitted

    class Giving(type(model)):
        def member_log_ratios(self, rows):
            return pd.DataFrame({"<b>": rows[:, 0], "up": rows[:, 0] ** 3, "down": -rows[:, 0]})

    giving = Giving()
    giving.__dict__.update(model.__dict__)
    report = PUReport(giving, X, y, findings=[])
    assert report.to_dict()["agreement"]["matrix"] == [[1, 1, -1], [1, 1, -1], [-1, -1, 1]]
    assert "1. &lt;b&gt;" in report.html()


def test_findings_are_taken_or_made(fitted):
    model, X, y = fitted
    finding = {"code": "PU001", "severity": "error", "title": "A leak", "seen": "column 2"}
    found = PUReport(model, X, y, findings=[finding]).to_dict()["findings"]
    assert found == [{**finding, "why": "", "todo": ""}]
    assert isinstance(PUReport(model, X, y).to_dict()["findings"], list)


def test_doubts_are_said(fitted):
    model, X, y = fitted
    few = y & (np.cumsum(y) <= 20)
    report = PUReport(model, X, few, findings=[], notes=["The cat sat on the keyboard."])
    assert "The cat sat" in report.to_dict()["doubts"][0]
    assert "rests on 20 labelled rows" in report.to_dict()["doubts"][1]


def test_the_dict_is_a_copy_and_json(report):
    report.to_dict()["prior"]["value"] = 7
    assert report.to_dict()["prior"]["value"] != 7
    assert json.loads(report.json()) == report.to_dict()


def test_bad_input_is_refused(fitted):
    model, X, y = fitted
    for wrong, message in [
        ((clone(model), X, y), "not fitted"),
        ((object(), X, y), "got object"),
        ((model, X, y[:-1]), "500 rows but y has 499"),
        ((model, X, np.zeros(500, bool)), "no row is labelled"),
        ((model, X, np.ones(500, bool)), "no row is unlabelled"),
        ((model, X, np.full(500, "no")), "y must hold"),
    ]:
        with pytest.raises(ValueError, match=message):
            PUReport(*wrong)
    with pytest.raises(PUInputError, match="one entry a row"):
        PUReport(model, X, y, ids=[1, 2])


def test_save(report, tmp_path):
    for name, text in [
        ("r.html", report.html()),
        ("r.json", report.json()),
        ("r.md", report.markdown()),
    ]:
        assert report.save(tmp_path / name).read_text(encoding="utf-8") == text
    assert len(list(tmp_path.iterdir())) == 3
    with pytest.raises(PUInputError, match=r"\.html, \.json or \.md"):
        report.save(tmp_path / "r.pdf")
    with pytest.raises(PUInputError, match="not a folder"):
        report.save(tmp_path / "none" / "r.html")
