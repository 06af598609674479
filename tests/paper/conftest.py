from pathlib import Path

import pytest

from varpu.paper import load_plugin, loading, registry

collect_ignore = ["plugin.py"]  # importing it registers things
PLUGIN = Path(__file__).with_name("plugin.py")


@pytest.fixture
def plugin(monkeypatch, tmp_path):
    """The small experiments are known, and only to this test; it runs in an empty folder."""
    monkeypatch.setattr(loading, "_folders", [])
    monkeypatch.setattr(registry, "_methods", {})
    monkeypatch.setattr(registry, "_tasks", {})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VARPU_TEST_LOG", str(tmp_path / "log"))
    load_plugin(PLUGIN)
    return PLUGIN
