"""A network on a stream: as good as in memory, alone or together, whatever the parts."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch

from varpu.crossfit import pooled_loss
from varpu.exceptions import PUInputError
from varpu.scaleout import networks
from varpu.scaleout.ahead import ahead
from varpu.scaleout.networks import fit_network_stream
from varpu.scaleout.parquet import ParquetRows
from varpu.tabular import TableModel
from varpu.world import World

SCRIPT = Path(__file__).with_name("network_rank.py")
N = 12_000


def frame(n=N, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    truth = random.random(n) < 1 / (1 + np.exp(-(3 * X[:, 0] - 2 * X[:, 1] - 1)))
    table = pd.DataFrame(X, columns=list("abcd"))
    table["kind"] = np.where(X[:, 2] > 0, "up", "down")
    table["known"] = np.where(truth & (random.random(n) < 0.3), 1, 0)
    return table, truth


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("stream") / "table.parquet"
    table = pa.Table.from_pandas(frame()[0], preserve_index=False)
    pyarrow.parquet.write_table(table, path, row_group_size=1500)
    return path


@pytest.fixture(scope="module")
def rows(file):
    return ParquetRows(file, label="known", random_state=0)


@pytest.fixture(scope="module")
def model(rows):
    return fit_network_stream(rows, passes=12, device="cpu", random_state=0)


def test_it_comes_near_the_truth(model, rows):
    fresh, truth = frame(seed=1)
    encoded = rows.encoder.transform(fresh)
    best = (3 * fresh["a"] - 2 * fresh["b"] > 1).to_numpy()
    accuracy = (model.predict(encoded) == truth).mean()
    assert accuracy > (best == truth).mean() - 0.015
    assert abs(model.prior_ - truth.mean()) < 0.05


def test_held_out_loss_is_that_of_a_fit_in_memory(model, rows):
    """Beside the in-memory classifier's networks, on the rows that the stream held out."""
    from varpu import VPUClassifier

    held_out = rows.held_out_rows()
    blocks = list(rows.blocks(epoch=None))
    table = pd.concat([block for block, _ in blocks], ignore_index=True)
    labelled = np.concatenate([is_labelled for _, is_labelled in blocks])
    numbers = list("abcd")
    in_memory = VPUClassifier(lam=0.03, lr=1e-3, random_state=0, device="cpu")
    in_memory.fit(table[numbers].to_numpy(), labelled)
    scores = in_memory.log_ratio(held_out.frame[numbers].to_numpy())
    expected = pooled_loss(scores, held_out.weight_p, held_out.weight_u)
    # Over about 400 held-out positives the loss has a standard error of some 0.04.
    assert abs(model.held_out_loss_ - expected) < 0.04


def test_the_same_seed_gives_the_same_bits(rows):
    first, second = (
        fit_network_stream(rows, passes=1, device="cpu", random_state=3) for _ in range(2)
    )
    encoded = rows.held_out_rows().frame
    assert (first.decision_function(encoded) == second.decision_function(encoded)).all()


def test_every_row_comes_once_a_pass_and_batches_are_full(rows, model):
    stream = networks._Stream(rows, 2, World())
    batches = list(stream.batches(model._columns))
    assert [len(batch) for batch in batches] == [stream.sizes(i)[0] for i in range(stream.steps)]
    assert {len(batch) for batch in batches[:-1]} == {1024}
    together = torch.cat(batches)
    one_pass = torch.from_numpy(
        np.concatenate([model._columns.standard(b) for b, _ in rows.blocks(epoch=None)])
    ).float()
    both = torch.cat([one_pass, one_pass])
    order = [np.lexsort(part.numpy().T) for part in (together, both)]
    torch.testing.assert_close(together[order[0]], both[order[1]], rtol=0, atol=0)


def test_case_control_leaves_the_labelled_rows_out_of_the_marginal(file):
    rows = ParquetRows(file, label="known", scenario="case-control")
    stream = networks._Stream(rows, 1, World())
    assert stream.steps == -(-(rows.n_train - rows.n_train_positive) // 1024)


def test_bad_settings_are_told_before_any_reading(rows):
    for wrong in ({"prior": 1.5}, {"lam": -1}, {"lr": 0}, {"passes": 0}):
        with pytest.raises(PUInputError, match=next(iter(wrong))):
            fit_network_stream(rows, **wrong)


def test_reading_ahead_changes_nothing_and_hands_errors_on():
    assert list(ahead(iter(range(5)))) == [0, 1, 2, 3, 4]
    assert list(ahead(iter([]))) == []

    def broken():
        yield 1
        raise PUInputError("damaged")

    pieces = ahead(broken())
    assert next(pieces) == 1
    with pytest.raises(PUInputError, match="damaged"):
        next(pieces)


def test_two_processes_train_one_network(file, tmp_path):
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*torchrun, "--nproc-per-node", "2", SCRIPT, file, tmp_path],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    first, second = (dict(np.load(tmp_path / f"{rank}.npz")) for rank in (0, 1))
    assert (first["scores"] == second["scores"]).all()
    assert first["loss"] == second["loss"]
    alone = dict(np.load(tmp_path / "alone.npz"))
    # Another order of the rows, and so another network; the loss of one is the loss of the other.
    assert abs(first["loss"] - alone["loss"]) < 0.02
    assert first["few"] == second["few"]  # one process has run out long before the other


def test_the_command_by_two_processes(file, tmp_path):
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command = ["-m", "varpu", "fit", file, "--label", "known", "--stream", "trees", "--out"]
    done = subprocess.run(
        [*torchrun, "--nproc-per-node", "2", *command, tmp_path / "together"],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("held-out L_var") == 1
    subprocess.run([sys.executable, *command, tmp_path / "alone"], check=True, timeout=120)
    together, alone = (TableModel.load(tmp_path / name) for name in ("together", "alone"))
    # Each process finds quantiles to cut columns at; merged, they are nearly those of the whole.
    assert abs(together.summary["held_out_loss"] - alone.summary["held_out_loss"]) < 0.02
    assert (together.labelled == alone.labelled).all()
    assert len(together.out_of_fold) == len(together.labelled)


def test_the_command(file, tmp_path):
    out = tmp_path / "model"
    command = [sys.executable, "-m", "varpu", "fit", file, "--label", "known", "--out", out]
    done = subprocess.run(
        [*command, "--stream", "trees"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "rows       12,000" in done.stdout
    scored = TableModel.load(out).predict(frame()[0])
    assert len(scored) == N
    for wrong, said in (
        (["--stream", "forest", "--force"], "kind must be one of 'trees', 'network'"),
        (["--stream", "trees", "--force", "--time-budget", "3"], "no use for --time-budget"),
    ):
        done = subprocess.run([*command, *wrong], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2
        assert said in done.stderr
