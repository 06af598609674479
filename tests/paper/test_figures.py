"""Figures: drawn from what is there, and the same from the same numbers."""

import base64
import io

import numpy as np
import pytest
from matplotlib.image import imread, imsave

from varpu.exceptions import PUInputError
from varpu.paper import Cell, ResultFileError, Run, Store, draw_figures


def png(value):
    buffer = io.BytesIO()
    imsave(buffer, np.full((8, 8), value), format="png", cmap="gray", vmin=0, vmax=1)
    return buffer.getvalue()


def fill(store, samples=None):
    for i in range(1, 11):
        for method in ("vpu", "nnpu"):
            runs = [Run(seed, {"accuracy": 90.0 - i + seed}) for seed in range(3)]
            store.add(Cell(f"fashion_mnist_1-bias-{i}", method), runs)
    extra = {"samples": samples} if samples else {}
    store.add(Cell("fashion_mnist_1", "genpu"), [Run(0, {"accuracy": 50.0}, extra=extra)])


def test_nothing_measured_draws_nothing(tmp_path):
    assert draw_figures(None, tmp_path / "r", tmp_path / "out") == []
    assert not (tmp_path / "out").exists()


def test_lines_are_drawn_and_the_same_each_time(tmp_path):
    fill(Store(tmp_path / "r"))
    drawn = draw_figures(None, tmp_path / "r", tmp_path / "out")
    names = [path.name for path in drawn]
    assert names == ["figure2.svg", "figure3.svg", "figure5.svg"]  # each has a point
    assert drawn[0].read_text(encoding="utf-8").count("<svg") == 1
    [again] = draw_figures(["figure2"], tmp_path / "r", tmp_path / "again")
    assert again.read_bytes() == drawn[0].read_bytes()


@pytest.mark.parametrize("as_file", [False, True])
def test_samples_are_drawn(tmp_path, as_file):
    store = Store(tmp_path / "r")
    samples = {"classes": {"positive": {"Trouser": 0.9, "Coat": 0.1}, "negative": {"Bag": 1.0}}}
    for side, value in (("positive", 0.0), ("negative", 1.0)):
        if as_file:
            samples[side] = f"{side}.png"
        else:
            samples[side] = base64.b64encode(png(value)).decode()
    fill(store, samples)
    if as_file:
        for side in ("positive", "negative"):
            (tmp_path / "r" / "fashion_mnist_1" / f"{side}.png").write_bytes(png(0.5))
    [path] = draw_figures(["figure4"], tmp_path / "r", tmp_path / "out")
    assert path.name == "figure4.png"
    assert imread(path).shape[1] > 400


def test_what_is_no_picture_is_said(tmp_path):
    wrong = base64.b64encode(b"no picture").decode()
    fill(Store(tmp_path), {"positive": wrong, "negative": "?"})
    with pytest.raises(ResultFileError, match=r"genpu\.json holds no PNG"):
        draw_figures(["figure4"], tmp_path, tmp_path / "out")


def test_a_table_is_no_figure(tmp_path):
    with pytest.raises(PUInputError, match="table2 is no figure"):
        draw_figures(["table2"], tmp_path, tmp_path)
