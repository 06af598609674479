"""Several real processes compute the loss, the gradients and the fits of one."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from varpu.training import LOSSES, PENALTIES
from varpu.world import World, current_world, is_launched, joined_world

SCRIPT = Path(__file__).with_name("ranks.py")
SIZES = (1, 2, 3)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """By size, what each of the processes found."""
    results = {}
    for size in SIZES:
        folder = tmp_path_factory.mktemp(f"of{size}")
        processes = [
            subprocess.Popen(
                [
                    sys.executable,
                    SCRIPT,
                    str(rank),
                    str(size),
                    folder / "meeting",
                    folder / f"{rank}.npz",
                ],
                stderr=subprocess.PIPE,
            )
            for rank in range(size)
        ]
        for process in processes:
            _, said = process.communicate(timeout=120)
            assert process.returncode == 0, said.decode()
        results[size] = [dict(np.load(folder / f"{rank}.npz")) for rank in range(size)]
    return results


def agree(found, name, size, tolerance=1e-9):
    alone = found[1][0][name]
    largest = np.abs(alone).max()
    assert largest > 0
    for own in found[size]:
        np.testing.assert_allclose(own[name], alone, rtol=tolerance, atol=tolerance * largest)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("penalty", [None, *PENALTIES])
@pytest.mark.parametrize("loss", LOSSES)
def test_loss_and_gradients_are_those_of_one_process(found, loss, penalty, size):
    # The mean loss of an epoch is kept in float32, so that much of it is compared.
    agree(found, f"{loss} {penalty}", size, 1e-6 if penalty == "vat" else 2e-7)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("risk", ["upu", "nnpu", "nnpu-mixup", "supervised"])
def test_risks_are_those_of_one_process(found, risk, size):
    agree(found, risk, size, 2e-7)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("penalty", ["mixup", "mixup_pu", "adversarial"])
@pytest.mark.parametrize("kind", ["pair", "alone"])
def test_batch_norm_has_the_statistics_of_the_whole_batch(found, kind, penalty, size):
    agree(found, f"batch norm, {kind}, {penalty}", size, 2e-7)


@pytest.mark.parametrize("size", [2, 3])
def test_parts_may_be_uneven_and_empty(found, size):
    agree(found, "parts", size)


@pytest.mark.parametrize("size", [2, 3])
def test_the_mean_of_local_losses_is_another_loss(found, size):
    exact, naive = found[1][0]["parts"][0], found[size][0]["mean of each process's own loss"][0]
    assert abs(naive - exact) > 0.01


@pytest.mark.parametrize("size", [2, 3])
def test_a_whole_fit_is_that_of_one_process(found, size):
    fits = [name for name in found[1][0] if name.startswith(("history", "state"))]
    assert len(fits) > 20
    for name in fits:
        for own in found[size]:
            np.testing.assert_allclose(own[name], found[1][0][name], rtol=1e-4, atol=1e-5)
            assert (own[name] == found[size][0][name]).all()  # every process has the same bits


@pytest.mark.parametrize("size", SIZES)
def test_values_go_round(found, size):
    for own in found[size]:
        assert own["from first"] == 0
        assert own["all of"].tolist() == [10 * rank for rank in range(size)]
        assert own["sent a"].tolist() == [[0, 1, 2], [3, 4, 5]]
        assert own["sent none"].shape == (0, 2)


@pytest.mark.parametrize("n", [0, 1, 7, 12])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_shares_are_a_partition_into_nearly_equal_parts(n, size):
    shares = [World(rank, size).share(n) for rank in range(size)]
    assert [i for share in shares for i in range(n)[share]] == list(range(n))
    lengths = [share.stop - share.start for share in shares]
    assert max(lengths) - min(lengths) <= 1


def test_without_a_launch_there_is_one_process(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert not is_launched()
    with joined_world() as world:
        assert world.is_alone
        assert world.is_first
    assert current_world().is_alone
