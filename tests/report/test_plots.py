"""Plots draw on the axes they are given, or on new ones."""

import matplotlib
import pytest

matplotlib.use("Agg")
from matplotlib import pyplot as plt

PLOTS = ["plot_scores", "plot_calibration", "plot_importance", "plot_candidates", "plot_prior"]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("name", PLOTS)
def test_plots_take_axes(report, name):
    _, ax = plt.subplots()
    assert getattr(report, name)(ax=ax) is ax
    assert ax.has_data()
    own = getattr(report, name)()
    assert own is not ax
    own.figure.canvas.draw()


def test_hostile_names_are_drawn(hostile):
    hostile.plot_importance(n_columns=2).figure.canvas.draw()
