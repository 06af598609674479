"""Trees by stream: the in-memory fit's loss, the same model on any number of processes."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.metrics import roc_auc_score

from varpu.boosting.objective import variational_derivatives
from varpu.boosting.xgboost_classifier import VPUXGBoostClassifier
from varpu.boosting.xgboost_growing import (
    HeldOutLoss,
    as_matrix,
    feature_types,
    grow,
    levels_of,
)
from varpu.crossfit import pooled_loss
from varpu.exceptions import PUInputError
from varpu.scaleout import spool
from varpu.scaleout.parquet import ParquetRows
from varpu.scaleout.trees import fit_trees_stream

xgboost = pytest.importorskip("xgboost")

RANK = Path(__file__).with_name("rank.py")
QUICK = {"max_rounds": 40, "n_jobs": 1, "max_depth": 4}


def table(n, seed=0, levels=None):
    """Columns of numbers and a category; with ``levels``, numbers have few values."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.4
    X = rng.normal(size=(n, 3))
    X[truth, 0] += 2.5
    if levels:
        X = np.round(X * levels) / levels
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["colour"] = np.where(rng.random(n) < 0.7, np.where(truth, "red", "blue"), "green")
    frame.loc[rng.random(n) < 0.1, "b"] = np.nan
    frame["labelled"] = (truth & (rng.random(n) < 0.4)).astype(np.int8)
    return frame, truth


def write(frame, path, group=1000):
    pyarrow.parquet.write_table(pa.Table.from_pandas(frame), path, row_group_size=group)
    return path


def test_a_streamed_fit_is_that_of_the_same_rows_in_memory(tmp_path, monkeypatch):
    """In many small pages; numbers of few values have the same bins however they are sketched."""
    monkeypatch.setattr(spool, "_PAGE", 1 << 14)
    frame, _ = table(10_000, levels=8)
    rows = ParquetRows(write(frame, tmp_path / "t.parquet"), label="labelled")
    how = {"max_rounds": 12, "max_depth": 4, "n_jobs": 1, "colsample_bytree": 1.0}
    streamed = fit_trees_stream(rows, **how)
    blocks = list(rows.blocks(epoch=None))
    labelled = np.concatenate([part for _, part in blocks])
    held = rows.held_out_rows()
    levels = levels_of(held.frame)
    types = {"feature_types": feature_types(4, levels), "enable_categorical": True}
    data, other = (
        xgboost.QuantileDMatrix(as_matrix(X, levels), nthread=1, max_bin=256, **types)
        for X in (pd.concat([part for part, _ in blocks], ignore_index=True), held.frame)
    )
    params = {**streamed._booster_params(0), "grow_policy": "depthwise"}
    loss = HeldOutLoss(other, held.weight_p, held.weight_u, lambda sums: sums)
    in_memory = grow(params, data, labelled, np.ones(len(labelled)), loss, 12, 8)
    np.testing.assert_allclose(streamed.history_["held_out_loss"], in_memory.history, atol=1e-6)
    assert streamed._grown.log_mean == pytest.approx(in_memory.log_mean, abs=1e-6)


def test_a_streamed_fit_is_as_good_as_one_in_memory(tmp_path):
    """L_var on fresh rows, within the noise of holding out other rows than the classifier does."""
    frame, _ = table(20_000)
    rows = ParquetRows(write(frame, tmp_path / "t.parquet"), label="labelled")
    how = {"learning_rate": 0.2, "subsample": 1.0, "min_child_weight": 10.0, **QUICK}
    streamed = fit_trees_stream(rows, **how)
    fresh, truth = table(20_000, seed=1)
    encoded = rows.encoder.transform(fresh.drop(columns="labelled"))
    y = fresh["labelled"].to_numpy(np.float64)
    whole = rows.encoder.transform(frame.drop(columns="labelled"))

    def loss(model):
        return pooled_loss(model.log_ratio(encoded), y, np.ones(len(y)))

    in_memory = [
        loss(
            VPUXGBoostClassifier(num_leaves=16, held_out=0.1, random_state=seed, **how).fit(
                whole, frame["labelled"] == 1
            )
        )
        for seed in range(5)
    ]
    assert loss(streamed) < np.mean(in_memory) + 3 * np.std(in_memory, ddof=1)
    assert streamed.prior_ == pytest.approx(truth.mean(), abs=0.05)
    assert (streamed.predict(encoded) == truth).mean() > 0.93
    assert roc_auc_score(truth, streamed.decision_function(encoded)) > 0.97


def test_pages_are_the_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(spool, "_PAGE", 1000)
    rng = np.random.default_rng(0)
    written = spool.Spool(tmp_path, 3)
    parts = [rng.random((n, 3), dtype=np.float32) for n in (100, 1, 0, 250)]
    for part in parts:
        written.append(part)
    pages = written.pages()
    assert len(pages) == 5  # 351 rows of 12 bytes
    read = np.vstack([written.read(*page) for page in pages])
    np.testing.assert_array_equal(read, np.vstack(parts))


def test_scores_are_density_ratios_of_the_training_rows(tmp_path):
    frame, _ = table(10_000)
    rows = ParquetRows(write(frame, tmp_path / "t.parquet"), label="labelled")
    model = fit_trees_stream(rows, prior=0.4, **QUICK)
    trained = pd.concat([block for block, _ in rows.blocks(epoch=None)])
    model.recalibration_ = None
    assert np.exp(model.log_ratio(trained)).mean() == pytest.approx(1, abs=1e-5)
    assert model.prior_interval_ == (0.4, 0.4)


def test_case_control(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.random(8000) < 0.3
    U = rng.normal(size=(8000, 2)) + np.where(truth, 4.0, 0.0)[:, None]
    P = rng.normal(size=(4000, 2)) + 4.0
    frame = pd.DataFrame(np.vstack([P, U]), columns=["a", "b"])
    frame["labelled"] = np.repeat([1, 0], [4000, 8000])
    path = write(frame, tmp_path / "t.parquet")
    rows = ParquetRows(path, label="labelled", scenario="case-control")
    assert fit_trees_stream(rows, **QUICK).prior_ == pytest.approx(0.3, abs=0.03)


def test_the_seed_decides_everything(tmp_path):
    frame, _ = table(5000)
    rows = ParquetRows(write(frame, tmp_path / "t.parquet"), label="labelled")
    held = rows.held_out_rows().frame
    one, two = (fit_trees_stream(rows, prior=0.4, subsample=0.5, **QUICK) for _ in range(2))
    np.testing.assert_array_equal(one.log_ratio(held), two.log_ratio(held))
    other = fit_trees_stream(rows, prior=0.4, subsample=0.5, random_state=1, **QUICK)
    assert (one.log_ratio(held) != other.log_ratio(held)).any()


def test_the_temporary_folder_is_removed_whatever_happens(tmp_path):
    frame, _ = table(3000)
    path = write(frame, tmp_path / "t.parquet")
    rows = ParquetRows(path, label="labelled")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    fit_trees_stream(rows, prior=0.4, folder=scratch, **QUICK)
    assert not list(scratch.iterdir())
    path.unlink()
    with pytest.raises(PUInputError, match=r"t\.parquet"):
        fit_trees_stream(rows, folder=scratch, **QUICK)
    assert not list(scratch.iterdir())


def test_bad_parameters(tmp_path):
    frame, _ = table(500)
    rows = ParquetRows(write(frame, tmp_path / "t.parquet"), label="labelled")
    for settings, message in [
        ({"max_depth": 0}, "max_depth must be"),
        ({"prior": 1.5}, "prior must be"),
        ({"random_state": -1}, "random_state must be"),
    ]:
        with pytest.raises(PUInputError, match=message):
            fit_trees_stream(rows, **settings)


def run_ranks(size, folder, cases):
    """What the cases gave on each of ``size`` fresh processes."""
    logs = [folder / f"log-{rank}" for rank in range(size)]
    processes = []
    for rank, log in enumerate(logs):
        command = [sys.executable, str(RANK), str(rank), str(size), str(folder), *cases]
        with log.open("w") as file:
            processes.append(subprocess.Popen(command, stdout=file, stderr=file))
    try:
        for process, log in zip(processes, logs, strict=True):
            assert process.wait(timeout=120) == 0, log.read_text()
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return [json.loads((folder / f"found-{rank}").read_text()) for rank in range(size)]


@pytest.fixture(scope="module")
def groups(tmp_path_factory):
    """What groups of one, two and three processes give, on the same tables."""
    rng = np.random.default_rng(0)
    weight_p = np.where(np.arange(100) < 40, rng.random(100) < 0.5, 0).astype(float)
    whole = {"scores": 2 * rng.normal(size=100), "weight_p": weight_p, "weight_u": np.ones(100)}
    frame, _ = table(6000, levels=8)
    tiny = table(6)[0][["a", "b"]].fillna(0.0).assign(labelled=[1, 0, 1, 0, 1, 0])
    found = {}
    for size, cases in [
        (1, ["fit", "sorted_fit"]),
        (2, ["derivatives", "fit", "columns", "gone", "missing"]),
        (3, ["derivatives", "fit", "sorted_fit", "empty", "unheld"]),
    ]:
        folder = tmp_path_factory.mktemp(f"ranks{size}")
        np.savez(folder / "objective.npz", **whole)
        write(frame, folder / "table.parquet", group=700)
        ordered = frame.sort_values("labelled", ascending=False, ignore_index=True)
        write(ordered, folder / "sorted.parquet", group=1000)
        write(frame.rename(columns={"c": "d"}), folder / "other.parquet")
        write(tiny, folder / "tiny.parquet", group=2)
        write(frame[:90], folder / "small.parquet", group=30)
        found[size] = run_ranks(size, folder, cases)
    return whole, found


@pytest.mark.parametrize("size", [2, 3])
def test_derivatives_over_processes_are_those_of_one(groups, size):
    whole, found = groups
    wanted = variational_derivatives(**whole)
    for i in range(2):
        parts = [one["derivatives"][i] for one in found[size]]
        np.testing.assert_allclose(np.concatenate(parts), wanted[i], rtol=1e-12)
    # What each would find by itself is something else.
    naive = variational_derivatives(*(values[:7] for values in whole.values()))
    assert np.abs(naive[0] / wanted[0][:7] - 1).max() > 0.2


@pytest.mark.parametrize(("size", "case"), [(2, "fit"), (3, "fit"), (3, "sorted_fit")])
def test_a_fit_over_processes_is_that_of_one(groups, size, case):
    _, found = groups
    alone, together = found[1][0][case], [one[case] for one in found[size]]
    # One and the same model on every process, to the bit.
    assert all(one == together[0] for one in together)
    np.testing.assert_allclose(together[0]["history"], alone["history"], atol=1e-6)
    np.testing.assert_allclose(together[0]["scores"], alone["scores"], atol=1e-4)
    assert together[0]["log_mean"] == pytest.approx(alone["log_mean"], abs=1e-6)
    assert together[0]["prior"] == pytest.approx(alone["prior"], abs=1e-4)
    assert alone["left"] == []
    # Of a sorted table, one process alone has labelled rows.
    n_with_positives = np.count_nonzero(together[0]["positives"])
    assert n_with_positives == (size if case == "fit" else 1)


def test_a_process_may_have_no_row_held_out(groups):
    _, found = groups
    (n_held_out, loss), *others = (one["unheld"] for one in found[3])
    assert min(n_held_out) == 0 < max(n_held_out)
    assert np.isfinite(loss)
    assert all(other == [n_held_out, loss] for other in others)


def test_nobody_waits_for_a_process_that_is_lost(tmp_path):
    write(table(3000)[0], tmp_path / "table.parquet")
    found = run_ranks(2, tmp_path, ["lost"])
    assert "a process of this fit failed or was lost" in found[0]["lost"]


@pytest.mark.parametrize(
    ("size", "case", "message"),
    [
        (2, "columns", "must open the same table: .* another columns: they differ in c, d"),
        (2, "gone", "own-1.parquet"),
        (2, "missing", r"pip install \"varpu\[xgboost\]\""),
        (3, "empty", "has no rows to train on: the table has 6, use fewer processes"),
    ],
)
def test_trouble_on_one_process_is_one_error_on_each(groups, size, case, message):
    _, found = groups
    (said,) = {one[case] for one in found[size]}
    assert said.startswith("PUInputError")
    assert re.search(message, said)
