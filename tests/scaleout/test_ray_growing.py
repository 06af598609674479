"""Folds grown on Ray: the model that is grown here, bit for bit."""

import os
import signal

import numpy as np
import pandas as pd
import pytest

from varpu import PUClassifier, VPUBoostingClassifier
from varpu.exceptions import PUInputError
from varpu.scaleout import ray_growing as module
from varpu.scaleout.ray_growing import ray_folds
from varpu.scaleout.ray_joining import ray_cluster

N = 800


@pytest.fixture(scope="module")
def table():
    random = np.random.RandomState(0)
    X = pd.DataFrame(random.normal(size=(N, 4)), columns=list("abcd"))
    X["colour"] = pd.Categorical(random.choice(["red", "blue"], N))
    y = (X["a"] + X["b"] * X["c"] > 0.3) & (random.random_sample(N) < 0.4)
    return X, y.to_numpy()


@pytest.fixture(scope="module")
def cluster():
    with ray_cluster(workers=2):
        yield


def fitted(table, **params):
    return VPUBoostingClassifier(random_state=0, max_rounds=60, **params).fit(*table)


def assert_same(one, other):
    fields, arrays = one._to_state()
    more_fields, more_arrays = other._to_state()
    assert fields == more_fields
    assert arrays.keys() == more_arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, more_arrays[name], err_msg=name)


def test_the_same_model(cluster, table):
    here = fitted(table)
    with ray_folds(workers=2):
        there = fitted(table)
        again = fitted(table, n_folds=3)
    assert_same(here, there)
    assert_same(fitted(table, n_folds=3), again)
    np.testing.assert_array_equal(here.predict_proba(table[0]), there.predict_proba(table[0]))


def test_a_killed_worker_costs_time_alone(cluster, table, monkeypatch):
    here = fitted(table)
    killed = []
    ask = module._FarMember._ask

    def ask_and_kill(self, method, *args):
        if self._key[1] == 0 and self._rounds == 16 and not killed:  # they have grown for a while
            killed.extend(workers_at("_Holder"))
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
        return ask(self, method, *args)

    monkeypatch.setattr(module._FarMember, "_ask", ask_and_kill)
    with ray_folds(workers=2):
        there = fitted(table)
    assert len(killed) == 2
    assert_same(here, there)


def workers_at(name):
    import psutil

    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if any(word.startswith(f"ray::{name}") for word in process.cmdline()[:1]):
                found.append(process.pid)
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
    return found


@pytest.mark.slow
def test_the_trees_of_the_default_classifier(cluster, table):
    params = {"families": ("trees",), "random_state": 0, "progress": False}
    here = PUClassifier(**params).fit(*table)
    with ray_folds():
        there = PUClassifier(**params).fit(*table)
    np.testing.assert_array_equal(here.predict_proba(table[0]), there.predict_proba(table[0]))


def test_an_error_leaves_things_as_they_were(cluster, table):
    with pytest.raises(PUInputError, match="n_folds"), ray_folds(workers=1):
        fitted(table, n_folds=1)
    assert fitted(table, n_folds=2).best_round_ > 0
