"""A PU table in Parquet or Arrow files that is never held whole."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from varpu.base import SCENARIOS
from varpu.checks import one_of, share, whole
from varpu.crossfit import marginal_rows
from varpu.exceptions import PUInputError
from varpu.scaleout import draws
from varpu.scaleout.labelling import Labels, labels_of
from varpu.scaleout.sampling import sample_of
from varpu.scaleout.sources import Paths, TableFiles, Unit
from varpu.tabular.encoder import TableEncoder
from varpu.tabular.labels import find_column
from varpu.world import World

# Rows that are looked at together, where it is not said.
_ROWS_AT_ONCE = 65_536
# Row groups that fill a buffer side by side: neighbours are often alike, distant ones are not. Each
# that is open takes some megabytes for each column.
_SIDE_BY_SIDE = 4
# A large table holds out a small share, but not of few labelled rows: the prior rests on these.
_ENOUGH_POSITIVES = 1000
# Below this luck could leave no labelled row on one side; another draw is taken then.
_FEW_POSITIVES, _MOST_DRAWS = 1000, 1000

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]
Numbers = NDArray[np.int64]
Choice = Callable[[Numbers, Truths], Truths]


@dataclass(frozen=True)
class _Piece:
    """Encoded rows with their labels and their numbers in the table."""

    frame: pd.DataFrame
    labelled: Truths
    number: Numbers


@dataclass(frozen=True)
class HeldOutRows:
    """Rows that are never trained on.

    Attributes
    ----------
    frame : DataFrame
        Encoded.
    weight_p, weight_u : arrays of shape (n,)
        1 for labelled rows, and for rows of the marginal sample, else 0. Where few rows are
        labelled more of them are held out than of the marginal; then a labelled row of the
        single-set scenario may count among the positives alone.
    """

    frame: pd.DataFrame
    weight_p: Floats
    weight_u: Floats


class ParquetRows:
    """Rows of a table in files, encoded and in pieces, so that memory stays flat.

    Opening it reads the label column (twice) and a sample of the others, about 100,000 rows, on
    which it finds out what the columns are.

    Parameters
    ----------
    paths : path or sequence of paths
        Parquet or Arrow (IPC) files, or folders of them; together they are one table.
    label, positive, id, drop
        As in :meth:`varpu.tabular.TableModel.fit`.
    scenario : {"single-set", "case-control"}, default="single-set"
    random_state : int, default=0
        Decides which rows are held out, the order of the rows in an epoch and the encoding.
    held_out : float, default=0.1
        The share of the rows that is not trained on.
    most_held_out : int, default=200_000
        Marginal rows that are held out at most, about: a share smaller than ``held_out`` is taken
        where that would give more.
    most_positives : int, default=2_000_000
        Labelled rows that :meth:`positives` gives at most, about.

    Attributes
    ----------
    n_rows, n_positive : int
        Of the whole table.
    columns : list of str
        Columns to learn from, as they are in the files.
    units : list of Unit
        Row groups.
    encoder : TableEncoder
        ``encoder.names_`` are the columns that rows come in.
    positive : str
        The value that marks positives.
    held_out_share : float
        The share of the rows that is in fact not trained on.
    n_train, n_train_positive : int
        Rows that are trained on, and the labelled ones among them.
    """

    def __init__(
        self,
        paths: Paths,
        *,
        label: str,
        positive: Any = None,
        id: str | None = None,
        drop: Sequence[str] = (),
        scenario: str = "single-set",
        random_state: int = 0,
        held_out: float = 0.1,
        most_held_out: int = 200_000,
        most_positives: int = 2_000_000,
    ) -> None:
        one_of("scenario", scenario, SCENARIOS)
        share("held_out", held_out)
        whole("most_held_out", most_held_out, 1)
        whole("most_positives", most_positives, 1)
        whole("random_state", random_state, 0)
        self._files = TableFiles(paths)
        self.label, self.id, self.scenario = label, id, scenario
        self.random_state, self.most_positives = int(random_state), most_positives
        names = self._files.columns
        find_column(label, names, "label")
        for name, what in [(id, "id"), *((name, "columns to drop") for name in drop)]:
            if name is not None:
                find_column(name, names, what)
        apart = {label, id, *drop}
        self.columns = [name for name in names if name not in apart]
        if not self.columns:
            raise PUInputError("the table has no column to learn from besides the label")
        self.n_rows, self.units = self._files.n_rows, self._files.units

        self._labels: Labels = labels_of(self._files, label, positive)
        self.positive, self.n_positive = self._labels.positive, self._labels.n_positive
        n_marginal = self.n_rows - (0 if scenario == "single-set" else self.n_positive)
        self._share_u = min(held_out, most_held_out / n_marginal)
        self.held_out_share = min(held_out, max(self._share_u, _ENOUGH_POSITIVES / self.n_positive))
        self._seed = self._settled_seed()
        sample = sample_of(self._files, self.columns)
        self.encoder = TableEncoder(self.random_state).fit(sample)
        nothing = self.encoder.transform(sample[:1])[:0]
        self._nothing = _Piece(nothing, np.zeros(0, dtype=bool), np.zeros(0, dtype=np.int64))
        made = self.encoder.columns_
        self._used = [str(name) for name in made.loc[made["made"] > 0, "column"]]
        self._count()

    def held_out_rows(self, *, shard: tuple[int, int] = (0, 1)) -> HeldOutRows:
        """The rows that are not trained on, encoded and with their weights; they fit in memory.

        Of several ranks each has those of its ``shard``, as in :meth:`blocks`; one may have none.
        """
        pieces = [self._nothing, *self._pieces(self.shard_units(*shard), self._is_kept_out)]
        frame = pd.concat([piece.frame for piece in pieces], ignore_index=True)
        labelled = np.concatenate([piece.labelled for piece in pieces])
        number = np.concatenate([piece.number for piece in pieces])
        marginal = marginal_rows(labelled, self.scenario) & (self._draw(number) < self._share_u)
        return HeldOutRows(frame, labelled.astype(np.float64), marginal.astype(np.float64))

    def held_out_labels(self) -> Truths:
        """Which of the rows of :meth:`held_out_rows` are labelled; no file is read for it."""
        kept = []
        for unit in self.units:
            labelled = self._labels.of(unit)
            kept.append(labelled[self._is_kept_out(_numbers(unit), labelled)])
        return np.concatenate(kept)

    def positives(self) -> pd.DataFrame:
        """The labelled rows that are trained on, encoded; a sample of them if they are many."""
        kept = self.most_positives / max(self.n_train_positive, 1)

        def is_taken(number: Numbers, labelled: Truths) -> Truths:
            lucky = draws.uniform(self.random_state, draws.POSITIVES, number) < kept
            return labelled & lucky & self._is_trained_on(number, labelled)

        units = [unit for unit in self.units if self._labels.has_positives(unit)]
        pieces = [self._nothing, *self._pieces(units, is_taken)]
        return pd.concat([piece.frame for piece in pieces], ignore_index=True)

    def blocks(
        self, *, epoch: int | None, shard: tuple[int, int] = (0, 1), buffer_rows: int = 131_072
    ) -> Iterator[tuple[pd.DataFrame, Truths]]:
        """The rows to train on, in blocks of about ``buffer_rows`` rows.

        Parameters
        ----------
        epoch : int or None
            None: in the order of the table. Else row groups come in an order drawn for that
            epoch, several of them side by side fill a buffer, and its rows are shuffled. So rows
            that lie further apart in one row group than ``buffer_rows`` rows never meet in a
            block: where the rows of a table are sorted, row groups should be small.
        shard : pair of int
            ``(rank, size)``: the part of the rows for this rank. Each row is in one part, and
            parts are of equal size up to one row (before rows are held out). Which rows they are
            does not depend on the epoch.
        buffer_rows : int

        Yields
        ------
        frame : DataFrame
            Encoded rows.
        labelled : bool array
        """
        whole("buffer_rows", buffer_rows, 1)
        units = self.shard_units(*shard)
        if epoch is None:
            for piece in self._pieces(units, self._is_trained_on, buffer_rows):
                yield piece.frame, piece.labelled
            return
        keys = draws.hashed(self.random_state + epoch * 2**32, draws.ORDER, _firsts(units))
        mixed = self._side_by_side([units[i] for i in np.argsort(keys)], buffer_rows)
        for pieces in mixed:
            number = np.concatenate([piece.number for piece in pieces])
            keys = draws.hashed(self.random_state + epoch * 2**32, draws.BUFFER, number)
            order = np.argsort(keys)
            frame = pd.concat([piece.frame for piece in pieces], ignore_index=True)
            labelled = np.concatenate([piece.labelled for piece in pieces])
            yield frame.take(order).reset_index(drop=True), labelled[order]

    def shard_units(self, rank: int, size: int) -> list[Unit]:
        """Row groups, and parts of them, that belong to a rank, in the order of the table.

        Groups are dealt out in an order drawn once, so that a sorted table gives each rank rows of
        every kind; only those on the border of two ranks are cut.
        """
        whole("the number of ranks", size, 1)
        whole("rank", rank, 0)
        if rank >= size:
            raise PUInputError(f"rank must be below the number of ranks, {size}; got {rank}")
        if size == 1:
            return list(self.units)
        start, stop = self.n_rows * rank // size, self.n_rows * (rank + 1) // size
        keys = draws.hashed(self.random_state, draws.SHARDS, _firsts(self.units))
        own, before = [], 0
        for i in np.argsort(keys):
            unit = self.units[i]
            low, high = max(start - before, 0), min(stop - before, unit.rows)
            if low < high:
                own.append(unit.part(low, high))
            before += unit.rows
        return sorted(own, key=lambda unit: unit.first_row)

    def n_train_of(self, rank: int, size: int, *, marginal: bool = False) -> int:
        """How many rows :meth:`blocks` gives to a rank; of the marginal sample alone, if asked."""
        count = 0
        units = self.shard_units(rank, size)
        for part in (part for unit in units for part in unit.parts(_ROWS_AT_ONCE)):
            labelled = self._labels.of(part)
            taken = self._is_trained_on(_numbers(part), labelled)
            if marginal:
                taken &= marginal_rows(labelled, self.scenario)
            count += int(np.count_nonzero(taken))
        return count

    def check_same(self, world: World) -> None:
        """Raise on every process of a world unless all of them opened the same table."""
        about = {
            "columns": self.encoder.names_,
            "number of rows": self.n_rows,
            "number of labelled rows": self.n_positive,
            "number of rows to train on": self.n_train,
            "scenario": self.scenario,
            "random_state": self.random_state,
        }
        every = world.all_of(about)
        for name in about:
            values = [one[name] for one in every]
            rank = next((i for i, value in enumerate(values) if value != values[0]), None)
            if rank is None:
                continue
            if name == "columns":
                apart = sorted(set(values[0]) ^ set(values[rank])) or ["their order"]
                said = f"they differ in {', '.join(map(str, apart[:5]))}"
            else:
                said = f"{values[0]} and {values[rank]}"
            raise PUInputError(
                f"processes that fit together must open the same table: processes 0 and {rank}"
                f" have another {name}: {said}"
            )

    def _draw(self, number: Numbers) -> Floats:
        return draws.uniform(self._seed, draws.HELD_OUT, number)

    def _is_trained_on(self, number: Numbers, labelled: Truths) -> Truths:
        kept: Truths = self._draw(number) >= self.held_out_share
        return kept

    def _is_kept_out(self, number: Numbers, labelled: Truths) -> Truths:
        draw = self._draw(number)
        return np.where(labelled, draw < self.held_out_share, draw < self._share_u)

    def _pieces(
        self, units: list[Unit], which: Choice, rows: int = _ROWS_AT_ONCE
    ) -> Iterator[_Piece]:
        """Encoded rows of these units, those of them that are wanted."""
        for unit in units:
            done = 0
            for table in self._files.read(unit, self._used, rows):
                part = unit.part(done, done + table.num_rows)
                done += table.num_rows
                number, labelled = _numbers(part), self._labels.of(part)
                wanted = which(number, labelled)
                if wanted.any():
                    if not wanted.all():
                        table = table.filter(pa.array(wanted))
                    frame = self.encoder.transform(self._files.frame(unit, table))
                    yield _Piece(frame, labelled[wanted], number[wanted])

    def _side_by_side(self, units: list[Unit], buffer_rows: int) -> Iterator[list[_Piece]]:
        """Pieces of several units in turn, as many as fill a buffer."""
        rows = max(buffer_rows // _SIDE_BY_SIDE, 1)
        waiting = iter(units)
        reading: list[Iterator[_Piece]] = []
        held: list[_Piece] = []
        n_held = 0
        while True:
            for unit in waiting:
                # A small one is read at once and its file closed: an open one takes more memory.
                is_small = unit.rows <= buffer_rows
                pieces = self._pieces([unit], self._is_trained_on, unit.rows if is_small else rows)
                reading.append(_cut(list(pieces) if is_small else pieces, rows))
                if len(reading) >= _SIDE_BY_SIDE:
                    break
            if not reading:
                break
            for source in list(reading):
                piece = next(source, None)
                if piece is None:
                    reading.remove(source)
                    continue
                held.append(piece)
                n_held += len(piece.frame)
                if n_held >= buffer_rows:
                    yield held
                    held, n_held = [], 0
        if held:
            yield held

    def _settled_seed(self) -> int:
        """A seed by which some labelled rows are held out, and some are not."""
        if self.n_positive > _FEW_POSITIVES:
            return self.random_state
        numbers = np.concatenate([_numbers(unit)[self._labels.of(unit)] for unit in self.units])
        least = max(1, int(self.held_out_share * self.n_positive / 2))
        for draw in range(_MOST_DRAWS):
            seed = self.random_state + draw * 2**32
            is_out = draws.uniform(seed, draws.HELD_OUT, numbers) < self.held_out_share
            if least <= is_out.sum() < self.n_positive:
                return seed
        raise PUInputError(
            f"holding rows out needs at least 2 labelled ones, and held_out={self.held_out_share:g}"
            f" of {self.n_positive} must be one or more"
        )

    def _count(self) -> None:
        self.n_train = self.n_train_positive = n_kept_u = 0
        for part in (part for unit in self.units for part in unit.parts(_ROWS_AT_ONCE)):
            number, labelled = _numbers(part), self._labels.of(part)
            trained = self._is_trained_on(number, labelled)
            marginal = marginal_rows(labelled, self.scenario)
            self.n_train += int(np.count_nonzero(trained))
            self.n_train_positive += int(np.count_nonzero(trained & labelled))
            n_kept_u += int(np.count_nonzero(marginal & (self._draw(number) < self._share_u)))
        if not n_kept_u or self.n_train == self.n_train_positive:
            raise PUInputError(
                f"held_out={self.held_out_share:g} of {self.n_rows} rows leaves no row of the"
                " marginal sample to hold out, or none to train on"
            )


def _cut(pieces: Iterable[_Piece], rows: int) -> Iterator[_Piece]:
    """The same rows in smaller pieces."""
    for piece in pieces:
        for start in range(0, len(piece.number), rows):
            part = slice(start, start + rows)
            yield _Piece(piece.frame[part], piece.labelled[part], piece.number[part])


def _numbers(unit: Unit) -> Numbers:
    return np.arange(unit.first_row, unit.first_row + unit.rows)


def _firsts(units: list[Unit]) -> Numbers:
    return np.array([unit.first_row for unit in units], dtype=np.int64)
