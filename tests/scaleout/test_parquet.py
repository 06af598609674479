"""ParquetRows: every row once, whoever reads it and in which order, and bad input said early."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from varpu.exceptions import PUInputError
from varpu.scaleout.draws import hashed, uniform
from varpu.scaleout.parquet import ParquetRows
from varpu.tabular.encoder import TableEncoder


def table(n=5000, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.4
    return pd.DataFrame(
        {
            "number": np.arange(n) + 0.5,  # names the row, but is no whole number
            "amount": np.where(rng.random(n) < 0.1, np.nan, truth + rng.normal(size=n)),
            "colour": rng.choice(["red", "green", None], n),
            "bought": np.where(truth & (rng.random(n) < 0.5), "yes", None),
        }
    )


def written(frame, folder, name="t.parquet", group=300):
    path = folder / name
    pyarrow.parquet.write_table(pa.Table.from_pandas(frame), path, row_group_size=group)
    return path


def numbers(blocks):
    return np.concatenate([frame["number"].to_numpy() for frame, _ in blocks])


def test_hash_is_that_of_the_networks():
    """The same SplitMix64 as varpu.training.draws has in torch."""
    torch = pytest.importorskip("torch")
    from varpu.training.draws import hashed as in_torch

    rows = np.arange(1000)
    found = in_torch(torch.tensor([7]), 3, torch.from_numpy(rows))
    np.testing.assert_array_equal(hashed(7, 3, rows).view(np.int64), found.numpy().ravel())


def test_draws_are_uniform_and_purposes_apart():
    rows = np.arange(200_000)
    draws = uniform(0, 0, rows)
    assert (draws < 0.1).mean() == pytest.approx(0.1, abs=0.003)
    assert abs(np.corrcoef(draws, uniform(0, 1, rows))[0, 1]) < 0.01
    assert abs(np.corrcoef(draws, uniform(1, 0, rows))[0, 1]) < 0.01
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 0.01


def test_blocks_and_held_out_rows_are_the_encoded_table(tmp_path):
    frame = table()
    rows = ParquetRows(written(frame, tmp_path), label="bought")
    features = frame.drop(columns="bought")
    encoded = TableEncoder(0).fit(features).transform(features)
    blocks = list(rows.blocks(epoch=None, buffer_rows=700))
    held = rows.held_out_rows()
    assert (rows.held_out_labels() == (held.weight_p > 0)).all()
    assert rows.held_out_labels().any()
    together = pd.concat([*(part for part, _ in blocks), held.frame])
    together = together.sort_values("number").reset_index(drop=True)
    pd.testing.assert_frame_equal(together, encoded)
    labelled = np.concatenate([*(part for _, part in blocks), held.weight_p.astype(bool)])
    where = np.concatenate([numbers(blocks), held.frame["number"]]).astype(int)
    np.testing.assert_array_equal(labelled[np.argsort(where)], frame["bought"] == "yes")
    assert rows.n_rows == 5000
    assert rows.n_positive == (frame["bought"] == "yes").sum()
    assert rows.n_train == len(numbers(blocks))
    assert rows.n_train_positive == sum(part.sum() for _, part in blocks)
    assert len(held.frame) == pytest.approx(500, abs=80)


def test_which_rows_are_held_out_depends_on_nothing_but_the_seed(tmp_path):
    frame = table()
    one = ParquetRows(written(frame, tmp_path, group=300), label="bought", random_state=3)
    parts = tmp_path / "parts"
    parts.mkdir()
    for i in range(3):
        written(frame[i * 2000 : (i + 1) * 2000], parts, f"{i}.parquet", group=77 * (i + 1))
    other = ParquetRows(parts, label="bought", random_state=3)
    for epoch, buffer in [(None, 50), (0, 200), (5, 10_000)]:
        a = np.sort(numbers(one.blocks(epoch=None)))
        b = np.sort(numbers(other.blocks(epoch=epoch, buffer_rows=buffer)))
        np.testing.assert_array_equal(a, b)
    third = ParquetRows(parts, label="bought", random_state=4)
    assert set(third.held_out_rows().frame["number"]) != set(one.held_out_rows().frame["number"])


@pytest.mark.parametrize("group", [100, 1700, 5000])
@pytest.mark.parametrize("epoch", [None, 2])
def test_each_row_has_one_rank(tmp_path, group, epoch):
    rows = ParquetRows(written(table(), tmp_path, group=group), label="bought")
    for size in (2, 3, 7):
        shards = [numbers(rows.blocks(epoch=epoch, shard=(r, size))) for r in range(size)]
        np.testing.assert_array_equal(
            np.sort(np.concatenate(shards)), np.sort(numbers(rows.blocks(epoch=None)))
        )
        assert [len(shard) for shard in shards] == [rows.n_train_of(r, size) for r in range(size)]
        n_rows = [sum(unit.rows for unit in rows.shard_units(r, size)) for r in range(size)]
        assert max(n_rows) - min(n_rows) <= 1


def test_more_ranks_than_rows_leave_some_with_nothing(tmp_path):
    rows = ParquetRows(written(table(40), tmp_path), label="bought")
    shards = [numbers([*rows.blocks(epoch=0, shard=(r, 50)), (table(0), None)]) for r in range(50)]
    assert sum(map(len, shards)) == rows.n_train
    assert min(map(len, shards)) == 0


def test_an_epoch_mixes_distant_rows_and_is_repeatable(tmp_path):
    rows = ParquetRows(written(table(20_000), tmp_path, group=500), label="bought")
    first = [frame["number"].to_numpy() for frame, _ in rows.blocks(epoch=0, buffer_rows=4000)]
    again = [frame["number"].to_numpy() for frame, _ in rows.blocks(epoch=0, buffer_rows=4000)]
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    other = numbers(rows.blocks(epoch=1, buffer_rows=4000))
    assert (other != np.concatenate(first)).mean() > 0.99
    # Rows of a block come from all over the table, and in no order.
    assert len(np.unique(first[0] // 500)) >= 8
    assert abs(np.corrcoef(np.arange(len(first[0])), first[0])[0, 1]) < 0.1
    assert all(len(block) < 4600 for block in first)


def test_positives_are_the_labelled_training_rows_or_a_sample(tmp_path):
    path = written(table(20_000), tmp_path)
    rows = ParquetRows(path, label="bought")
    labelled = [frame[mask] for frame, mask in rows.blocks(epoch=None)]
    found = rows.positives()
    pd.testing.assert_frame_equal(found, pd.concat(labelled, ignore_index=True))
    few = ParquetRows(path, label="bought", most_positives=1000).positives()
    assert len(few) == pytest.approx(1000, abs=100)
    assert set(few["number"]) < set(found["number"])


def test_case_control_has_only_unlabelled_rows_in_the_marginal(tmp_path):
    rows = ParquetRows(written(table(), tmp_path), label="bought", scenario="case-control")
    held = rows.held_out_rows()
    np.testing.assert_array_equal(held.weight_p + held.weight_u, 1)
    single = ParquetRows(written(table(), tmp_path), label="bought").held_out_rows()
    np.testing.assert_array_equal(single.weight_u, 1)


def test_few_labelled_rows_are_held_out_more_often_than_the_marginal(tmp_path):
    """Else the prior would rest on a handful of them."""
    frame = table(20_000)
    path = written(frame, tmp_path)
    rows = ParquetRows(path, label="bought", most_held_out=200)
    held = rows.held_out_rows()
    assert held.weight_u.sum() == pytest.approx(200, abs=60)
    assert held.weight_p.sum() == pytest.approx(0.1 * rows.n_positive, rel=0.25)
    # The held-out marginal is a sample of all rows: its share of labelled rows is theirs.
    wide = ParquetRows(path, label="bought", most_held_out=1500)
    held = wide.held_out_rows()
    share = held.weight_p @ held.weight_u / held.weight_u.sum()
    assert share == pytest.approx(wide.n_positive / wide.n_rows, abs=0.04)
    assert wide.held_out_share > wide._share_u


@pytest.mark.parametrize("seed", range(10))
def test_two_labelled_rows_are_enough(tmp_path, seed):
    frame = table(200)
    frame["bought"] = np.where(np.arange(200) < 2, 1, 0)
    rows = ParquetRows(written(frame, tmp_path), label="bought", random_state=seed)
    assert rows.held_out_rows().weight_p.sum() == 1
    assert len(rows.positives()) == 1


@pytest.mark.parametrize(
    ("values", "positive", "marker"),
    [
        ([1, 0], None, "1"),
        ([1.0, np.nan], None, "1"),
        ([True, False], None, "true"),
        (["a", "b"], "b", "b"),
        ([3, 4], 4.0, "4"),
        (["sold", " "], None, "sold"),
    ],
)
def test_labels_of_every_kind(tmp_path, values, positive, marker):
    frame = table(600)
    mask = np.arange(600) % 3 == 0
    first = values.index(positive) if positive else 0
    frame["bought"] = np.where(mask, values[first], values[1 - first])
    frame["bought"] = frame["bought"].astype(type(values[0]))
    rows = ParquetRows(written(frame, tmp_path), label="bought", positive=positive)
    assert rows.positive == marker
    assert rows.n_positive == 200
    number = rows.positives()["number"].to_numpy() - 0.5
    np.testing.assert_array_equal(number % 3, 0)


def test_categories_id_and_dropped_columns(tmp_path):
    frame = table(900).assign(key=np.arange(900), secret=1.5 * np.arange(900))
    frame["bought"] = frame["bought"].astype("category")
    rows = ParquetRows(written(frame, tmp_path), label="bought", id="key", drop=["secret"])
    assert rows.columns == ["number", "amount", "colour"]
    assert rows.encoder.names_ == ["number", "amount", "colour"]
    assert isinstance(rows.positives()["colour"].dtype, pd.CategoricalDtype)


def test_arrow_files_hold_the_same_table(tmp_path):
    frame = table()
    path = tmp_path / "t.feather"
    pyarrow.feather.write_feather(frame, path, chunksize=700)
    arrow = ParquetRows(path, label="bought")
    parquet = ParquetRows(written(frame, tmp_path), label="bought")
    assert len(arrow.units) == 8
    pd.testing.assert_frame_equal(arrow.positives(), parquet.positives())
    np.testing.assert_array_equal(
        np.sort(numbers(arrow.blocks(epoch=1, shard=(1, 2), buffer_rows=500))),
        np.sort(numbers(arrow.blocks(epoch=None, shard=(1, 2)))),
    )


def test_files_may_differ_in_order_and_width_of_columns(tmp_path):
    frame = table(1000)
    written(frame[:500], tmp_path, "a.parquet")
    narrow = frame[500:][["bought", "colour", "amount", "number"]]
    written(narrow.astype({"amount": np.float32}), tmp_path, "b.parquet")
    rows = ParquetRows(tmp_path, label="bought")
    assert len(numbers(rows.blocks(epoch=None))) == rows.n_train


def test_bad_files(tmp_path):
    frame = table(300)
    with pytest.raises(PUInputError, match="holds no Parquet"):
        ParquetRows(tmp_path, label="bought")
    with pytest.raises(PUInputError, match="does not exist"):
        ParquetRows(tmp_path / "none.parquet", label="bought")
    with pytest.raises(PUInputError, match="no file was given"):
        ParquetRows([], label="bought")
    frame.to_csv(tmp_path / "t.csv")
    with pytest.raises(PUInputError, match=r"wanted \.parquet"):
        ParquetRows(tmp_path / "t.csv", label="bought")
    path = written(frame, tmp_path)
    (tmp_path / "cut.parquet").write_bytes(path.read_bytes()[:-100])
    with pytest.raises(PUInputError, match=r"cut\.parquet is not a Parquet .* or is damaged"):
        ParquetRows(tmp_path, label="bought")
    (tmp_path / "cut.parquet").unlink()
    written(frame.drop(columns="amount").assign(x=1, y=2), tmp_path, "u.parquet")
    with pytest.raises(PUInputError, match=r"u\.parquet lacks 'amount' and has 'x', 'y' besides"):
        ParquetRows(tmp_path, label="bought")
    written(frame.assign(amount="much"), tmp_path, "u.parquet")
    with pytest.raises(PUInputError, match=r"holds text in .* and numbers"):
        ParquetRows(tmp_path, label="bought")


def test_damage_inside_a_file_is_said_when_it_is_met(tmp_path):
    path = written(table(3000), tmp_path)
    data = bytearray(path.read_bytes())
    data[4:2000] = bytes(1996)
    path.write_bytes(bytes(data))
    with pytest.raises(PUInputError, match="damaged"):
        list(ParquetRows(path, label="bought").blocks(epoch=None))


def test_bad_tables(tmp_path):
    frame = table(300)
    path = written(frame, tmp_path)
    with pytest.raises(PUInputError, match="did you mean 'bought'"):
        ParquetRows(path, label="bougt")
    with pytest.raises(PUInputError, match="columns to drop"):
        ParquetRows(path, label="bought", drop=["none"])
    with pytest.raises(PUInputError, match="no row is labelled 'no'"):
        ParquetRows(path, label="bought", positive="no")
    with pytest.raises(PUInputError, match="several labels"):
        ParquetRows(path, label="colour")
    for bought, message in [(1, "every row is labelled"), (0, "no row is labelled")]:
        with pytest.raises(PUInputError, match=message):
            ParquetRows(written(frame.assign(bought=bought), tmp_path), label="bought")
    with pytest.raises(PUInputError, match="the table has no rows"):
        ParquetRows(written(frame[:0], tmp_path), label="bought")
    with pytest.raises(PUInputError, match="no column to learn from"):
        ParquetRows(written(frame[["bought"]], tmp_path), label="bought")
    one = np.where(np.arange(300) == 7, "yes", None)
    with pytest.raises(PUInputError, match="at least 2 labelled"):
        ParquetRows(written(frame.assign(bought=one), tmp_path), label="bought")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scenario": "none"}, "scenario must be"),
        ({"held_out": 1.0}, "held_out must be"),
        ({"most_held_out": 0}, "most_held_out must be"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_bad_parameters(tmp_path, settings, message):
    path = written(table(100), tmp_path)
    with pytest.raises(PUInputError, match=message):
        ParquetRows(path, label="bought", **settings)
    rows = ParquetRows(path, label="bought")
    with pytest.raises(PUInputError, match="rank must be below"):
        rows.shard_units(2, 2)
