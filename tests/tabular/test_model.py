"""A table in, scores out; a model in a folder, and every byte of it checked."""

import json
import os

import numpy as np
import pandas as pd
import pytest

from varpu.exceptions import ModelFileError, PUInputError
from varpu.tabular import TableModel, joined_tables
from varpu.tabular import model as module
from varpu.tabular.labels import read_labels

N = 200


@pytest.fixture(scope="module")
def frame():
    random = np.random.RandomState(0)
    frame = pd.DataFrame(
        {
            "customer": [f"c{i:03d}" for i in range(N)],
            "x": random.normal(size=N),
            "colour": random.choice(["red", "blue"], N),
            "note": [" ".join(random.choice(list("abcdefgh"), 8)) * 2 for _ in range(N)],
        }
    )
    labelled = (frame["x"] > 0.3) & (np.arange(N) % 2 == 0)
    frame["bought"] = np.where(labelled, "yes", None)
    return frame


@pytest.fixture(scope="module")
def model(frame):
    return TableModel.fit(frame, label="bought", id="customer", time_budget=0.1)


def test_what_was_found(model, frame):
    assert (model.label, model.positive, model.id) == ("bought", "yes", "customer")
    found = json.loads(json.dumps(model.summary))
    assert found["rows"] == N
    assert found["positives"] == (frame["bought"] == "yes").sum()
    assert found["prior_interval"][0] <= found["prior"] <= found["prior_interval"][1]
    assert found["candidates"][0]["held_out_loss"] < 0
    assert {line["column"] for line in found["columns"]["used"]} == {"x", "colour", "note"}
    assert found["seconds"] > 0
    assert model.out_of_fold.shape == (N,)
    sure = model.out_of_fold[frame["x"] > 1].mean()
    assert sure > model.out_of_fold[frame["x"] < -1].mean() + 1


def test_predict(model, frame):
    scored = model.predict(frame)
    assert list(scored.columns) == ["customer", "probability", "label"]
    assert scored["customer"].tolist() == frame["customer"].tolist()
    assert scored["probability"].between(0, 1).all()
    assert scored["label"].tolist() == (scored["probability"] > 0.5).astype(int).tolist()
    assert ((scored["label"] == 1) == (frame["x"] > 0.3)).mean() > 0.85
    shuffled = frame.drop(columns="bought").iloc[::-1, ::-1]
    again = model.predict(shuffled).iloc[::-1].reset_index(drop=True)
    pd.testing.assert_frame_equal(again, scored)
    assert len(model.predict(frame[:0])) == 0
    with pytest.raises(PUInputError, match=r"no column 'customer' for the id; did you mean 'cust"):
        model.predict(frame.rename(columns={"customer": "custmer"}))


def test_saved_and_loaded(model, frame, tmp_path):
    model.save(tmp_path / "model")
    again = TableModel.load(tmp_path / "model")
    pd.testing.assert_frame_equal(again.predict(frame), model.predict(frame), check_exact=True)
    assert again.summary == model.summary
    np.testing.assert_array_equal(again.out_of_fold, model.out_of_fold)
    np.testing.assert_array_equal(again.labelled, model.labelled)
    assert os.listdir(tmp_path) == ["model"]
    with pytest.raises(PUInputError, match="exists; --force"):
        model.save(tmp_path / "model")
    model.save(tmp_path / "model", force=True)
    assert os.listdir(tmp_path) == ["model"]


def test_a_folder_of_something_else_is_never_replaced(model, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(PUInputError, match="is no model"):
        model.save(tmp_path, force=True)
    with pytest.raises(PUInputError, match="is no model"):
        model.save(tmp_path / "thesis.txt", force=True)
    with pytest.raises(PUInputError, match="not a folder to write to"):
        model.save(tmp_path / "none" / "model")


def test_one_changed_byte_anywhere(model, tmp_path):
    folder = tmp_path / "model"
    model.save(folder)
    random = np.random.RandomState(0)
    for file in sorted(folder.iterdir()):
        contents = file.read_bytes()
        places = {0, len(contents) - 1, *random.randint(len(contents), size=5).tolist()}
        for at in places:
            file.write_bytes(contents[:at] + bytes([contents[at] ^ 1]) + contents[at + 1 :])
            with pytest.raises(ModelFileError, match="altered or damaged"):
                TableModel.load(folder)
        file.write_bytes(contents + b"\n")
        with pytest.raises(ModelFileError, match="altered or damaged"):
            TableModel.load(folder)
        file.unlink()
        with pytest.raises(ModelFileError, match=r"incomplete|is not a model"):
            TableModel.load(folder)
        file.write_bytes(contents)
    TableModel.load(folder)
    with pytest.raises(ModelFileError, match="does not exist"):
        TableModel.load(tmp_path / "none")


@pytest.mark.parametrize(
    ("values", "positive", "marker", "n"),
    [
        (["yes", None, "", " "], None, "yes", 1),
        ([1, 0, 0, 1], None, "1", 2),
        ([1.0, 0.0, None, 1.0], None, "1", 2),
        ([True, False, False, False], None, "true", 1),
        (["TRUE", "FALSE", None, None], None, "TRUE", 1),
        ([1.0, None, None, 1.0], None, "1", 2),
        (["a", "b", "b", None], "b", "b", 2),
        ([3, 4, 4, 5], 4, "4", 2),
        ([3, 4, 4, 5], "4.0", "4", 2),
    ],
)
def test_labels(values, positive, marker, n):
    labelled, found, _ = read_labels(pd.Series(values, name="y"), positive)
    assert (found, labelled.sum()) == (marker, n)


@pytest.mark.parametrize(
    ("values", "positive", "message"),
    [
        (["spam", "ham", None], None, "several labels .*'spam'.*--positive"),
        ([0, 0, None], None, "no row is labelled positive"),
        ([None, None, None], None, "no row is labelled positive"),
        ([1, 1, 1], None, "every row is labelled positive.*--unlabeled"),
        (["spam", "ham", None], "span", "no row is labelled 'span'.*did you mean 'spam'"),
    ],
)
def test_labels_that_are_none(values, positive, message):
    with pytest.raises(PUInputError, match=message):
        read_labels(pd.Series(values, name="y"), positive)


def test_known_negatives_are_mentioned(frame):
    other = frame.assign(bought=frame["bought"].where(frame["x"] > -1, "never"))
    model = TableModel.fit(other, label="bought", positive="yes", drop=["note"], time_budget=0.01)
    assert "'never'" in model.summary["warnings"][0]
    assert "note" not in model.encoder.columns_["column"].tolist()


def test_wrong_names(frame):
    with pytest.raises(PUInputError, match="no column 'Bougth' for the label; did you mean 'bough"):
        TableModel.fit(frame, label="Bougth")
    with pytest.raises(PUInputError, match="columns to drop"):
        TableModel.fit(frame, label="bought", drop=["nothing"])
    with pytest.raises(PUInputError, match="no rows"):
        TableModel.fit(frame[:0], label="bought")


def test_two_tables(frame):
    positives = frame[frame["bought"] == "yes"].drop(columns="bought").assign(only=1)
    unlabeled = frame.drop(columns="bought").astype({"colour": "category"})
    joined, label, left_out = joined_tables(positives, unlabeled)
    assert left_out == ["only"]
    assert joined[label].sum() == len(positives)
    assert len(joined) == len(positives) + N
    with pytest.raises(PUInputError, match="no column in common"):
        joined_tables(positives[["only"]], unlabeled)


def test_large_tables_get_trees_alone(frame, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "LARGE", 100)
    many = pd.concat([frame.assign(x=frame["x"] + i / 100) for i in range(4)], ignore_index=True)
    stages = []
    model = TableModel.fit(many, label="bought", drop=["customer"], progress=stages.append)
    assert model.summary["method"] == "VPUBoostingClassifier"
    assert "boosted trees alone" in model.summary["warnings"][0]
    assert stages == ["looking at columns", "fitting"]
    model.save(tmp_path / "model")
    again = TableModel.load(tmp_path / "model")
    pd.testing.assert_frame_equal(again.predict(many), model.predict(many), check_exact=True)
