"""A Ray cluster is joined or started, and what does not answer is given up."""

import os
import socket
import subprocess
import sys
import time

import pytest

from varpu.exceptions import PUInputError, VarpuError
from varpu.scaleout.ray_joining import ray_cluster

JOIN = """
import sys
from varpu.scaleout.ray_joining import ray_cluster
with ray_cluster(sys.argv[1]) as workers:
    import os, ray
    names = "OMP_NUM_THREADS", "VARPU_DATA"
    seen = ray.remote(lambda: [os.environ[name] for name in names])
    print(workers, *ray.get(seen.remote()))
"""


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("nowhere", "is host:port or auto; got 'nowhere'"),
        ("127.0.0.1:1", "no Ray cluster answers at 127.0.0.1:1"),
        ("no-such-host.invalid:6379", "no Ray cluster answers at no-such-host"),
    ],
)
def test_where_nothing_listens_it_says_so_at_once(address, message):
    began = time.monotonic()
    with pytest.raises(VarpuError, match=message), ray_cluster(address):
        pass
    assert time.monotonic() - began < 15


def test_the_environment_may_name_the_cluster(monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(VarpuError, match=r"127\.0\.0\.1:1"), ray_cluster():
        pass


@pytest.mark.slow
def test_something_else_than_ray_is_given_up_in_30_seconds(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        began = time.monotonic()
        command = [sys.executable, "-m", "varpu", "paper", "run", "table2", "--seeds", "1"]
        ended = subprocess.run(
            [*command, "--engine", "ray", "--address", address],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert time.monotonic() - began < 35
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"varpu: no Ray cluster answers at {address}")
    assert ended.stderr.count("\n") == 1


def test_a_number_of_workers_is_asked_for():
    with pytest.raises(PUInputError, match="workers"), ray_cluster(workers=0):
        pass


def test_started_joined_and_shut_down(tmp_path):
    import ray

    threads = os.environ.get("OMP_NUM_THREADS")
    with ray_cluster(workers=2) as workers:
        assert workers == 2
        here = ray.remote(lambda: os.environ["OMP_NUM_THREADS"])
        assert ray.get(here.remote()) == "1"
        with ray_cluster(workers=1) as within:  # the one that is there is used, and left
            assert within == 1
        assert ray.is_initialized()
        address = ray.get_runtime_context().gcs_address
        joined = subprocess.run(
            [sys.executable, "-W", "error", "-c", JOIN, address],
            env={**os.environ, "VARPU_DATA": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (joined.stdout, joined.stderr) == (f"2 1 {tmp_path}\n", "")
    assert not ray.is_initialized()
    assert os.environ.get("OMP_NUM_THREADS") == threads


def test_without_ray_the_error_names_the_install_command(tmp_path):
    code = "import sys; sys.modules['ray'] = None; from varpu import cli; cli.main()"
    for args in (["predict", "m", "t.csv", "--out", "s.csv"], ["paper", "run", "table2"]):
        ended = subprocess.run(
            [sys.executable, "-c", code, *args, "--engine", "ray"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert ended.returncode == 2
        assert 'pip install "varpu[ray]"' in ended.stderr
        assert ended.stderr.count("\n") == 1


def test_options_of_the_engine_need_it(tmp_path):
    command = [sys.executable, "-m", "varpu", "paper", "run", "table2", "--workers", "2"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ended.stderr == "varpu: --address and --workers are for --engine ray\n"
