import numpy as np
import pytest
import torch

from varpu.generative import TableGenerator, generated_rows, in_input_units, spread

CPU = torch.device("cpu")


def test_rows_are_the_generator_s_of_standard_normal_latents():
    generator = TableGenerator(3, 3, ())
    with torch.no_grad():
        generator[0].weight.copy_(torch.eye(3))
        generator[0].bias.copy_(torch.tensor([0.0, 5.0, -5.0]))
    rows = generated_rows(generator, 3, 20_000, 0, CPU)
    assert rows.shape == (20_000, 3)
    np.testing.assert_allclose(rows.mean(axis=0), [0, 5, -5], atol=0.03)
    np.testing.assert_allclose(np.cov(rows.T), np.eye(3), atol=0.05)


def test_the_seed_decides():
    generator = TableGenerator(3, 2, (4,))
    first, again, other = (generated_rows(generator, 3, 10, seed, CPU) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_columns_go_back_to_the_units_of_the_table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2)) * [100, 0.1] + [7, -3]
    mean, std = X.mean(axis=0), X.std(axis=0)
    rows = ((X - mean) / std).astype(np.float32)
    np.testing.assert_allclose(in_input_units(rows, mean, std, as_bytes=False), X, atol=1e-4)


def test_pixels_become_bytes_where_images_were_bytes():
    rows = np.array([-1, 0.0039, 1, 1.5, -3], dtype=np.float32).reshape(1, 1, 1, 5)
    made = in_input_units(rows, np.zeros(1), np.ones(1), as_bytes=True)
    assert made.dtype == np.uint8
    np.testing.assert_array_equal(made.ravel(), [0, 128, 255, 255, 0])
    assert in_input_units(rows, np.zeros(1), np.ones(1), as_bytes=False) is rows


def test_spread_is_a_ratio_of_deviations():
    rng = np.random.default_rng(0)
    real = rng.normal(size=(1000, 3))
    assert spread(real, real) == pytest.approx(1)
    assert spread(real * 0.25 + 3, real) == pytest.approx(0.25)
    assert spread(np.repeat(real[:1], 10, axis=0), real) == pytest.approx(0)
    real[:, 2] = 4  # says nothing about how widely rows vary
    made = rng.normal(size=(10, 3))
    assert spread(made, real) == pytest.approx((made.std(0) / real.std(0).clip(1e-9))[:2].mean())
    assert np.isnan(spread(made, np.ones((5, 3))))
