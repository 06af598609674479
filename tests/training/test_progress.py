"""A bar for whoever watches, and nothing otherwise."""

import io
import sys

import pytest

from varpu.training import train
from varpu.training.progress import EpochBar


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    """Variables that make rich take any stream for a terminal."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "JUPYTER_COLUMNS"):
        monkeypatch.delenv(name, raising=False)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_nothing_is_written_where_nobody_watches(capfd):
    with EpochBar(3) as bar:
        for epoch in range(3):
            bar.advance(epoch, [0.5, float("nan")])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("progress", [None, False])
def test_training_writes_nothing_where_nobody_watches(task, capfd, progress):
    train(task.rows, task.members, task.recipe(), task.factory, progress=progress)
    assert capfd.readouterr() == ("", "")


def test_a_bar_that_is_not_wanted_is_not_shown_on_a_terminal(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with EpochBar(2, show=False) as bar:
        bar.advance(0, [0.5])
    assert terminal.getvalue() == ""


def test_a_terminal_is_shown_the_best_loss_and_its_epoch(monkeypatch, capfd):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    with EpochBar(4) as bar:
        for epoch, losses in enumerate([[0.5, 0.75], [0.25, float("nan")], [0.5, 0.5]]):
            bar.advance(epoch, losses)
    shown = terminal.getvalue()
    assert "held-out L_var 0.5000, best 0.2500 at 2" in shown
    assert "3/4" in shown
    assert capfd.readouterr().out == ""  # a bar is no output: that may be piped on


def test_a_fit_that_holds_nothing_out_shows_epochs_alone(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with EpochBar(2) as bar:
        bar.advance(0, [float("nan")])
    assert "1/2" in terminal.getvalue()
    assert "held-out" not in terminal.getvalue()
