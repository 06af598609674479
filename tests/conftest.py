import os
from pathlib import Path

# Each parallel worker has one thread, and so has what it starts: two teams of threads on two cores
# slow each other. Before torch and LightGBM are loaded, which read this once.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ |= {"OMP_NUM_THREADS": "1", "LOKY_MAX_CPU_COUNT": "1"}

import pytest
import torch


def pytest_configure():
    """Say it to torch as well, whatever it has read."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def seeded():
    """Every test starts from the same state of torch's generator."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data sets, named by the environment variable VARPU_DATA."""
    folder = os.environ.get("VARPU_DATA")
    if not folder:
        pytest.skip("VARPU_DATA is not set")
    if not Path(folder).is_dir():
        pytest.skip("VARPU_DATA does not name a folder")
    return Path(folder)
