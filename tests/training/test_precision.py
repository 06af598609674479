"""Where a fit runs and in what arithmetic."""

import pytest
import torch

from varpu.training import PRECISIONS, pick_device, pick_precision, train
from varpu.training.precision import _has_bfloat16, arithmetic, compute_dtype

CPU = torch.device("cpu")
without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")


def flags():
    return (
        torch.backends.cuda.matmul.allow_tf32,
        torch.backends.cudnn.allow_tf32,
        torch.backends.cudnn.benchmark,
        torch.get_float32_matmul_precision(),
        torch.are_deterministic_algorithms_enabled(),
        torch.get_default_dtype(),
        torch.get_num_threads(),
    )


def test_cpu_is_the_cpu():
    assert pick_device("cpu") == CPU


def test_auto_is_a_gpu_where_there_is_one():
    assert pick_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")


@without_gpu
@pytest.mark.parametrize("name", ["cuda", "cuda:0", "cuda:7"])
def test_a_gpu_that_is_not_there_is_refused(name):
    with pytest.raises(ValueError, match="torch sees 0 CUDA device"):
        pick_device(name)


@pytest.mark.parametrize("name", ["nonsense", "", "cuda:x", "cpu:-3"])
def test_a_name_that_torch_does_not_know_is_refused(name):
    with pytest.raises(ValueError, match="device must be 'auto', 'cpu' or a device torch knows"):
        pick_device(name)


@pytest.mark.parametrize("name", ["meta", "mps"])
def test_devices_of_other_kinds_are_refused(name):
    with pytest.raises(ValueError, match="must be a CPU or a CUDA GPU"):
        pick_device(name)


@pytest.mark.parametrize("name", PRECISIONS)
def test_a_precision_that_is_asked_for_is_taken(name):
    assert pick_precision(name, CPU) == name


@pytest.fixture
def processor(monkeypatch):
    """Make torch say what a processor can do that is not this one."""

    def has(*names):
        monkeypatch.setattr(
            torch.cpu, "get_capabilities", lambda: dict.fromkeys(names, True), False
        )
        _has_bfloat16.cache_clear()

    yield has
    _has_bfloat16.cache_clear()


def test_auto_is_bfloat16_where_the_processor_has_instructions_for_it(processor):
    processor("avx2", "avx512_f", "avx512_vnni")
    assert pick_precision("auto", CPU) == "fp32"
    for name in ("avx512_bf16", "amx_bf16"):
        processor("avx2", name)
        assert pick_precision("auto", CPU) == "bf16"


def test_a_torch_that_cannot_tell_gets_float32(monkeypatch):
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert _has_bfloat16.__wrapped__(CPU) is False


def test_types_of_products():
    types = {precision: compute_dtype(precision) for precision in PRECISIONS}
    assert types == {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16}


@pytest.mark.parametrize("precision", PRECISIONS)
def test_settings_of_the_user_are_put_back(precision):
    before = flags()
    with arithmetic(precision, CPU):
        pass
    assert flags() == before
    # The settings can be made without a GPU, so what is put back can be seen without one.
    gpu = torch.device("cuda")
    with arithmetic(precision, gpu):
        assert torch.backends.cuda.matmul.allow_tf32 == (precision != "fp32")
        assert torch.backends.cudnn.allow_tf32 == (precision != "fp32")
    assert flags() == before
    with pytest.raises(KeyError), arithmetic(precision, gpu):
        raise KeyError
    assert flags() == before


@pytest.mark.parametrize("precision", PRECISIONS)
def test_training_leaves_generators_and_settings_alone(task, precision):
    before, state = flags(), torch.get_rng_state()
    train(task.rows, task.members, task.recipe(precision=precision), task.factory)
    assert flags() == before
    assert torch.equal(torch.get_rng_state(), state)


def test_bfloat16_training_stays_near_float32(task):
    recipe = task.recipe(epochs=1, steps_per_epoch=1)
    exact = train(task.rows, task.members, recipe, task.factory)
    rough = train(
        task.rows,
        task.members,
        task.recipe(epochs=1, steps_per_epoch=1, precision="bf16"),
        task.factory,
    )
    assert all(value.dtype == torch.float32 for value in rough.states[0].values())
    assert not (exact.history == rough.history).all()
    # Products of bfloat16 numbers are good to 2^-8 of their terms.
    assert abs(exact.history - rough.history).max() < 0.05
