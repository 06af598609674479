"""Model files: what goes in comes out, and nothing else does."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.numpy import load_file, save_file
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import varpu
from varpu import VPUClassifier
from varpu.exceptions import ModelFileError, PUInputError, ScaleWarning


def make_model(**settings):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
    y = np.where((X["a"] > 0.5) & (np.arange(200) % 2 == 0), "yes", "no")
    model = VPUClassifier(hidden=(16,), epochs=2, batch_size=32, random_state=0, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)  # two epochs, and next to no rows
        return model.fit(X, y), X


@pytest.fixture(scope="module", params=["cross-fitted", "Algorithm 1"])
def saved(tmp_path_factory, request):
    if request.param == "cross-fitted":
        model, X = make_model(lam=(0.1, 1.0, 10.0))
    else:
        model, X = make_model(cv=None, validation_fraction=(5, 40))
    path = tmp_path_factory.mktemp("models") / "model.varpu"
    varpu.save(model, path)
    return path, model, X


def test_round_trip(saved):
    path, model, X = saved
    again = varpu.load(path)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.log_ratio(X), model.log_ratio(X))
    for name in ("prior_", "prior_interval_", "lam_", "best_epoch_", "held_out_loss_", "scale_"):
        assert getattr(again, name) == getattr(model, name)
    if model.recalibration_ is not None:
        for name in ("scores", "log_ratios"):
            found, kept = (getattr(m.recalibration_, name) for m in (again, model))
            np.testing.assert_array_equal(found, kept)
    for name in ("lam_weights_", "out_of_fold_log_ratio_", "mean_", "std_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
    assert len(again.modules_) == len(model.modules_)
    for one, other in zip(again.modules_, model.modules_, strict=True):
        assert not one.training
        for name, value in other.state_dict().items():
            assert torch.equal(one.state_dict()[name], value)
    assert list(again.feature_names_in_) == ["a", "b", "c"]
    pd.testing.assert_frame_equal(again.history_, model.history_)


def test_a_model_that_was_read_is_the_model_in_all_that_is_kept(saved):
    path, model, _ = saved
    again = varpu.load(path)
    assert vars(again).keys() == vars(model).keys()
    assert (again.recalibration_ is None) == (model.recalibration_ is None)


def test_a_fresh_process_reads_it(saved):
    path, model, X = saved
    program = (
        "import sys, varpu, numpy as np, pandas as pd\n"
        "X = pd.DataFrame(np.load(sys.argv[2]), columns=list('abc'))\n"
        "np.save(sys.argv[3], varpu.load(sys.argv[1]).predict_proba(X))\n"
    )
    table, out = path.with_name("X.npy"), path.with_name("proba.npy")
    np.save(table, X.to_numpy())
    subprocess.run([sys.executable, "-c", program, path, table, out], check=True)
    np.testing.assert_array_equal(np.load(out), model.predict_proba(X))


def test_images_and_no_held_out_rows(tmp_path):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (40, 1, 28, 28), dtype=np.uint8)
    model = VPUClassifier(
        cv=None,
        scale="max",
        validation_fraction=0,
        epochs=1,
        steps_per_epoch=2,
        batch_size=16,
        random_state=0,
    ).fit(images, np.arange(40) % 3 == 0)
    varpu.save(model, tmp_path / "m.varpu")
    again = varpu.load(tmp_path / "m.varpu")
    np.testing.assert_array_equal(again.predict_proba(images), model.predict_proba(images))
    assert np.isnan(again.held_out_loss_)
    assert again.classes_.dtype == bool


class _Own(torch.nn.Sequential):
    def __init__(self):
        super().__init__(torch.nn.Linear(3, 1))


def test_code_is_not_stored_and_must_be_given_again(tmp_path):
    model, X = make_model(module=_Own)
    varpu.save(model, tmp_path / "own.varpu")
    with pytest.raises(ModelFileError, match="module="):
        varpu.load(tmp_path / "own.varpu")
    again = varpu.load(tmp_path / "own.varpu", module=_Own)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ModelFileError, match="does not fit its network"):
        varpu.load(tmp_path / "own.varpu", module=lambda: torch.nn.Linear(4, 1))


@pytest.mark.parametrize("keep", [0, 4, 100, 0.5, 0.99])
def test_truncated(saved, tmp_path, keep):
    path, _, _ = saved
    whole = path.read_bytes()
    size = keep if isinstance(keep, int) else int(keep * len(whole))
    (tmp_path / "cut.varpu").write_bytes(whole[:size])
    with pytest.raises(ModelFileError, match="cut short"):
        varpu.load(tmp_path / "cut.varpu")


def test_altered_weight(saved, tmp_path):
    path, _, _ = saved
    whole = bytearray(path.read_bytes())
    whole[-1] ^= 1
    (tmp_path / "altered.varpu").write_bytes(whole)
    with pytest.raises(ModelFileError, match="altered or damaged"):
        varpu.load(tmp_path / "altered.varpu")


def test_altered_settings(saved, tmp_path):
    path, _, _ = saved
    whole = path.read_bytes()
    assert whole.count(b'\\"n_features_in\\": 3') == 1
    changed = whole.replace(b'\\"n_features_in\\": 3', b'\\"n_features_in\\": 7')
    (tmp_path / "altered.varpu").write_bytes(changed)
    with pytest.raises(ModelFileError, match="altered or damaged"):
        varpu.load(tmp_path / "altered.varpu")


def test_foreign_files(tmp_path):
    save_file({"weight": np.zeros(3)}, tmp_path / "other.safetensors")
    with pytest.raises(ModelFileError, match="not a varpu model"):
        varpu.load(tmp_path / "other.safetensors")
    (tmp_path / "text.varpu").write_text("hello, I am not a model")
    with pytest.raises(ModelFileError, match="not a varpu model"):
        varpu.load(tmp_path / "text.varpu")
    with pytest.raises(ModelFileError, match="is not a file"):
        varpu.load(tmp_path / "missing.varpu")


def test_a_later_format_is_refused(saved, tmp_path):
    path, _, _ = saved
    save_file(load_file(path), tmp_path / "later.varpu", metadata={"format": "99", "model": "{}"})
    with pytest.raises(ModelFileError, match="install a newer varpu"):
        varpu.load(tmp_path / "later.varpu")


class _Bomb:
    def __reduce__(self):
        return (print, ("executed",))


def test_a_pickle_is_not_executed(tmp_path, capsys):
    (tmp_path / "bomb.varpu").write_bytes(pickle.dumps(_Bomb()))
    with pytest.raises(ModelFileError):
        varpu.load(tmp_path / "bomb.varpu")
    assert "executed" not in capsys.readouterr().out


def test_what_cannot_be_saved(tmp_path):
    with pytest.raises(PUInputError, match=r"save takes PUClassifier, VPUClassifier, .*pickle"):
        varpu.save(LogisticRegression(), tmp_path / "m.varpu")
    with pytest.raises(NotFittedError):
        varpu.save(VPUClassifier(), tmp_path / "m.varpu")
    assert not list(tmp_path.iterdir())  # nothing is half-written


def test_saving_replaces_and_leaves_no_traces(saved, tmp_path):
    _, model, _ = saved
    for _ in range(2):
        varpu.save(model, tmp_path / "m.varpu")
    assert [file.name for file in tmp_path.iterdir()] == ["m.varpu"]
