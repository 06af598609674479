"""Fit a table of Parquet by stream, in a process of its own, and say what it took.

    python benchmarks/scale_fit.py KIND FILE [THREADS]

KIND is "trees" or "network". Prints one line of JSON: seconds, rows, the largest resident memory
(MiB), rounds, held-out L_var, the prior, and accuracy and AUC on fresh rows of the known law.
"""

import json
import resource
import sys
import time

import numpy as np
import pandas as pd
import scale_table
from sklearn.metrics import roc_auc_score

from varpu.scaleout.parquet import ParquetRows


def fit_trees(rows, n_threads):
    from varpu.scaleout.trees import fit_trees_stream

    model = fit_trees_stream(rows, n_jobs=n_threads)
    return model, {"rounds": len(model.history_), "best_round": model.best_round_}


def fit_network(rows, n_threads):
    import torch

    from varpu.scaleout.networks import fit_network_stream

    if n_threads:
        torch.set_num_threads(n_threads)
    return fit_network_stream(rows, device="cpu", progress=False), {}


KINDS = {"trees": fit_trees, "network": fit_network}


def main(kind, file, n_threads=None):
    began = time.monotonic()
    rows = ParquetRows(file, label="labelled")
    opened = time.monotonic()
    model, about = KINDS[kind](rows, n_threads)
    done = time.monotonic()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    # Fresh rows, of a seed that no table has.
    X, truth, _ = scale_table.batch(100_000, 2**31, 0)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    fresh = rows.encoder.transform(frame)
    scores = model.decision_function(fresh)
    best = scale_table.log_odds(X)
    result = {
        "kind": kind,
        "rows": rows.n_rows,
        "seconds": round(done - began, 1),
        "seconds_open": round(opened - began, 1),
        "microseconds_a_row": round((done - began) / rows.n_rows * 1e6, 2),
        "peak_mib": round(peak),
        "held_out_loss": model.held_out_loss_,
        "prior": model.prior_,
        "true_prior": float(np.mean(truth)),
        "accuracy": float(np.mean((scores > 0) == truth)),
        "accuracy_of_the_truth": float(np.mean((best > 0) == truth)),
        "auc": float(roc_auc_score(truth, scores)),
        "auc_of_the_truth": float(roc_auc_score(truth, best)),
        **about,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else None)
