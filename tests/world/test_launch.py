"""Whole fits under torchrun are those of one process, and an error on one is an error on all."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import varpu
from varpu.tabular import TableModel, TableWriter

SCRIPT = Path(__file__).with_name("fit_rank.py")
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def torchrun(*command):
    return subprocess.run(
        [*TORCHRUN, *map(str, command)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def fit(folder, *cases):
    """By case, the models of two processes that fit together, and of one alone."""
    names = ",".join(cases)
    done = torchrun(SCRIPT, names, folder)
    assert done.returncode == 0, done.stderr
    together = {
        case: [varpu.load(folder / f"{case}.{rank}.varpu") for rank in (0, 1)] for case in cases
    }
    subprocess.run([sys.executable, SCRIPT, names, folder], check=True, timeout=120)
    return {case: (together[case], varpu.load(folder / f"{case}.0.varpu")) for case in cases}


@pytest.fixture(scope="module")
def fits(tmp_path_factory):
    return fit(tmp_path_factory.mktemp("fits"), "alone", "folds", "seeds")


@pytest.mark.parametrize("case", ["alone", "folds"])
def test_held_out_losses_are_those_of_one_process(fits, case):
    together, alone = fits[case]
    assert len(alone.history_) == (12 if case == "alone" else 12 * 2 * 3)
    for model in together:
        difference = (model.history_["held_out_loss"] - alone.history_["held_out_loss"]).abs()
        assert difference.max() < 1e-4  # in every epoch
        assert abs(model.held_out_loss_ - alone.held_out_loss_) < 1e-4
        assert abs(model.prior_ - alone.prior_) < 1e-3
    states = [[*m.modules_[0].state_dict().values()] for m in together]
    for first, second in zip(*states, strict=True):
        assert (first == second).all()  # bit for bit on both


@pytest.mark.slow
def test_the_automatic_classifier_is_that_of_one_process(tmp_path):
    together, alone = fit(tmp_path, "auto")["auto"]
    for model in together:
        assert model.candidates_["candidate"].tolist() == alone.candidates_["candidate"].tolist()
        losses = [m.candidates_["held_out_loss"].to_numpy() for m in (model, alone)]
        np.testing.assert_allclose(*losses, atol=1e-3, equal_nan=True)
        assert abs(model.held_out_loss_ - alone.held_out_loss_) < 1e-3


def test_processes_without_a_seed_take_that_of_the_first(fits):
    (first, second), _ = fits["seeds"]
    assert first.history_.equals(second.history_)


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("columns", "must have the same number of columns: process 0 has [6]; process 1 has [7]"),
        pytest.param(
            "rows",
            "must have the same number of rows: process 0 has 900; process 1 has 899",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "values",
            "must have the same rows, members, settings and seeds",
            marks=pytest.mark.slow,
        ),
        ("labels", "y must have two classes"),
        ("crash", "ZeroDivisionError: a fault of the program"),
    ],
)
def test_one_error_on_every_process_and_no_hang(case, said, tmp_path):
    began = time.monotonic()
    done = torchrun(SCRIPT, case, tmp_path)
    assert time.monotonic() - began < 60
    assert done.returncode != 0
    for rank in (0, 1):
        assert said in (tmp_path / f"{rank}.error").read_text("utf-8")


@pytest.fixture
def frame():
    random = np.random.default_rng(0)
    x = random.normal(size=(260, 2))
    frame = pd.DataFrame(x, columns=["a", "b"])
    frame["sick"] = np.where((x[:, 0] > 0) & (np.arange(260) % 2 == 0), "yes", None)
    return frame


@pytest.fixture
def command(frame, tmp_path):
    with TableWriter(tmp_path / "table.csv") as writer:
        writer.write(frame)
    return ["-m", "varpu", "fit", tmp_path / "table.csv", "--label", "sick", "--out"]


def test_one_process_speaks_and_writes_for_all(command, frame, tmp_path):
    done = torchrun(*command, tmp_path / "model", "--time-budget", "0.01")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("held-out L_var") == 1
    assert len(TableModel.load(tmp_path / "model").predict(frame)) == 260


def test_a_place_that_cannot_be_written_is_told_by_all(command, tmp_path):
    wrong = torchrun(*command, tmp_path / "no such folder" / "model")
    assert wrong.returncode != 0
    assert wrong.stderr.count("is not a folder to write to") == 2


@pytest.mark.slow
def test_the_command_is_the_same_command(command, frame, tmp_path):
    done = torchrun(*command, tmp_path / "together")
    assert done.returncode == 0, done.stderr
    subprocess.run(
        [sys.executable, *map(str, command), tmp_path / "alone"],
        check=True,
        capture_output=True,
        timeout=120,
    )
    together, alone = (TableModel.load(tmp_path / name) for name in ("together", "alone"))
    assert abs(together.summary["held_out_loss"] - alone.summary["held_out_loss"]) < 1e-4
    scores = [model.predict(frame)["probability"] for model in (together, alone)]
    np.testing.assert_allclose(*scores, atol=1e-3)
