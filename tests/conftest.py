import os
from pathlib import Path

import pytest


def pytest_configure():
    """Give each parallel worker one thread, so that they do not fight over the cores."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data sets, named by the environment variable VARPU_DATA."""
    folder = os.environ.get("VARPU_DATA")
    if not folder:
        pytest.skip("VARPU_DATA is not set")
    if not Path(folder).is_dir():
        pytest.skip("VARPU_DATA does not name a folder")
    return Path(folder)
