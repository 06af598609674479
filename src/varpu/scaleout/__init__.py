"""Tables larger than memory, and more than one device or machine.

The names below are loaded when they are first used: streams of trees need XGBoost, networks and
:func:`joined_world` torch, and what begins with ``ray`` the extra of that name.
"""

from typing import TYPE_CHECKING

from varpu.lazy import loader

if TYPE_CHECKING:
    from varpu.scaleout.networks import fit_network_stream
    from varpu.scaleout.parquet import ParquetRows
    from varpu.scaleout.ray_growing import ray_folds
    from varpu.scaleout.ray_joining import ray_cluster
    from varpu.scaleout.ray_train import fit_on_ray
    from varpu.scaleout.scores import RunningScores
    from varpu.scaleout.table import fit_table_stream
    from varpu.scaleout.trees import fit_trees_stream
    from varpu.world import joined_world

__all__ = [
    "joined_world",
    "fit_table_stream",
    "fit_trees_stream",
    "fit_network_stream",
    "ParquetRows",
    "RunningScores",
    "ray_cluster",
    "ray_folds",
    "fit_on_ray",
]

_HOMES = {
    "joined_world": "varpu.world",
    "fit_table_stream": "varpu.scaleout.table",
    "fit_trees_stream": "varpu.scaleout.trees",
    "fit_network_stream": "varpu.scaleout.networks",
    "ParquetRows": "varpu.scaleout.parquet",
    "RunningScores": "varpu.scaleout.scores",
    "ray_cluster": "varpu.scaleout.ray_joining",
    "ray_folds": "varpu.scaleout.ray_growing",
    "fit_on_ray": "varpu.scaleout.ray_train",
}

__getattr__ = loader(globals(), _HOMES)
