import os
from pathlib import Path

import pytest
import torch


def pytest_configure():
    """Give each parallel worker one thread, so that they do not fight over the cores."""
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
