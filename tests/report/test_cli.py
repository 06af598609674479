"""``varpu report``, from a table to a page."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from varpu import VPUBoostingClassifier, save
from varpu.cli import app
from varpu.exceptions import ModelFileError, PUInputError
from varpu.tabular import TableModel

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, a model of it, and a classifier in one file."""
    folder = tmp_path_factory.mktemp("cli")
    rng = np.random.default_rng(0)
    truth = rng.random(400) < 0.4
    size, weight = rng.normal(size=(2, 400))
    size += 3 * truth
    known = truth & (rng.random(400) < 0.5)
    frame = pd.DataFrame({"key": [f"{HOSTILE} {i}" for i in range(400)], "size": size})
    frame["weight"] = weight
    frame[HOSTILE] = np.where(rng.random(400) < 0.5, HOSTILE, "plain")
    frame["known"] = np.where(known, "yes", None)
    frame.to_csv(folder / "rows.csv", index=False)
    TableModel.fit(frame, label="known", id="key", time_budget=0.1).save(folder / "model")
    numbers = frame[["size", "weight"]]
    save(VPUBoostingClassifier(max_rounds=20).fit(numbers, known), folder / "trees.varpu")
    return folder


@pytest.fixture
def run(folder, monkeypatch, tmp_path):
    """Run the command beside the table; what it raises is raised."""
    monkeypatch.chdir(folder)

    def run(*args):
        return CliRunner().invoke(app, ["report", *args], catch_exceptions=False).stdout

    return run


def test_of_a_folder_with_its_table(run, folder, tmp_path):
    out = tmp_path / "r.json"
    said = run("model", "rows.csv", "--out", str(out), "--title", "Sizes")
    found = json.loads(out.read_text(encoding="utf-8"))
    assert said == f"{found['answer']}\nThe report: {out}\n"
    assert found["scores"]["out_of_fold"]
    assert found["importance"]["columns"][0]["column"] == "size"
    # Values as they are in the table, and ids from their column.
    assert {"size", "weight", HOSTILE} <= {c["name"] for c in found["rows"]["columns"]}
    assert found["rows"]["data"][0][1].startswith(HOSTILE)
    summary = TableModel.load(folder / "model").summary
    assert found["prior"]["value"] == summary["prior"]
    assert found["data"]["labelled"] == summary["positives"]
    assert found["findings"] is not None
    assert found["reproduce"] == "varpu report model rows.csv --out report.html"


def test_of_a_folder_alone(run, folder, tmp_path):
    """Rows by their number, scored by models that did not see them; no columns to show."""
    run("model", "--out", str(tmp_path / "r.json"))
    found = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    model = TableModel.load(folder / "model")
    assert found["scores"]["out_of_fold"]
    assert found["data"]["labelled"] == model.labelled.sum() == model.summary["positives"]
    assert len(found["rows"]["data"]) == (~model.labelled).sum()


def test_of_a_file(run, tmp_path):
    out = str(tmp_path / "r.md")
    run("trees.varpu", "rows.csv", "--label", "known", "--id", "key", "--out", out)
    text = (tmp_path / "r.md").read_text(encoding="utf-8")
    assert "<img" not in text.replace("\\<img", "")
    with pytest.raises(PUInputError, match="give TABLE and --label"):
        run("trees.varpu", "--out", str(tmp_path / "other.md"))


def test_what_is_there_is_kept(run, tmp_path):
    out = tmp_path / "r.html"
    out.write_text("mine", encoding="utf-8")
    with pytest.raises(PUInputError, match="--force replaces it"):
        run("model", "--out", str(out))
    assert out.read_text(encoding="utf-8") == "mine"
    run("model", "--out", str(out), "--force")
    assert out.read_text(encoding="utf-8") != "mine"


def test_what_cannot_be_is_said_in_one_line(run, folder, tmp_path):
    for error, args in [
        (ModelFileError, ("none", "--out", str(tmp_path / "r.html"))),
        (PUInputError, ("model", "--out", str(tmp_path / "r.pdf"))),
        (PUInputError, ("model", "none.csv", "--out", str(tmp_path / "r.html"))),
        (
            PUInputError,
            ("model", "rows.csv", "--label", "knwon", "--out", str(tmp_path / "r.html")),
        ),
    ]:
        with pytest.raises(error):
            run(*args)
    done = subprocess.run(
        [sys.executable, "-m", "varpu", "report", "none", "--out", str(tmp_path / "r.html")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
