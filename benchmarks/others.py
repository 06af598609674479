"""What stands beside our classifiers in ``tables.py``.

Three of LightGBM with its default settings: unlabelled rows taken as negative, Elkan and Noto's
correction of that, and full supervision. Our nnPU, told the true prior. And classifiers of two
other packages, which have to be installed:

    pip install --no-deps pulearn cleanlab six termcolor tqdm

These get the same trees (bagging its own default, a decision tree), columns of numbers without gaps
and one column a category, which is all that most of them take. None was tuned: 200 bags as large as
the labelled set, a fifth of it held out, five folds, and all else as it comes.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from split import Split

import varpu

Found = tuple[np.ndarray, float | None]  # P(positive) of the test rows, and the prior if told
Model = Callable[[Split, int], Found]
Fit = Callable[[np.ndarray, np.ndarray, int], object]  # rows, marks of labels and a seed


def trees(seed: int) -> LGBMClassifier:
    # On tables this small, threads of LightGBM wait for each other most of the time.
    return LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)


def unlabelled_as_negative(split: Split, seed: int) -> Found:
    return trees(seed).fit(split.X, split.labelled).predict_proba(split.X_test)[:, 1], None


def full_supervision(split: Split, seed: int) -> Found:
    return trees(seed).fit(split.X, split.truth).predict_proba(split.X_test)[:, 1], None


def elkan_noto(split: Split, seed: int) -> Found:
    """P(labelled | x) over its out-of-fold mean on labelled rows, which is P(labelled | y = 1)."""
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    out_of_fold = cross_val_predict(
        trees(seed), split.X, split.labelled, cv=folds, method="predict_proba"
    )[:, 1]
    share = out_of_fold[split.labelled].mean()
    score = trees(seed).fit(split.X, split.labelled).predict_proba(split.X_test)[:, 1]
    return np.minimum(score / share, 1), min(1.0, float(split.labelled.mean() / share))


def nnpu_told_the_prior(split: Split, seed: int) -> Found:
    X, X_test = numbers(split)
    prior = float(split.truth.mean())
    model = varpu.NNPUClassifier(prior=prior, random_state=seed).fit(X, split.labelled)
    return model.predict_proba(X_test)[:, 1], prior


def numbers(split: Split) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows as plain numbers: a mean for a gap, a column a category."""
    both = pd.concat([pd.DataFrame(split.X), pd.DataFrame(split.X_test)], ignore_index=True)
    wide = pd.get_dummies(both, dtype=float)
    train, test = wide.iloc[: len(split.X)], wide.iloc[len(split.X) :]
    means = train.mean().fillna(0.0)
    return train.fillna(means).to_numpy(float), test.fillna(means).to_numpy(float)


def of_another_package(fit: Fit) -> Model:
    def run(split: Split, seed: int) -> Found:
        X, X_test = numbers(split)
        model = fit(X, split.labelled.astype(int), seed)
        return np.asarray(model.predict_proba(X_test)[:, 1], dtype=float), None

    return run


def pulearn_elkan_noto(X: np.ndarray, y: np.ndarray, seed: int) -> object:
    from pulearn import ElkanotoPuClassifier

    return ElkanotoPuClassifier(trees(seed), hold_out_ratio=0.2, random_state=seed).fit(X, y)


def pulearn_weighted(X: np.ndarray, y: np.ndarray, seed: int) -> object:
    from pulearn import WeightedElkanotoPuClassifier

    model = WeightedElkanotoPuClassifier(
        trees(seed), int(y.sum()), int((1 - y).sum()), hold_out_ratio=0.2, random_state=seed
    )
    return model.fit(X, y)


def pulearn_bagging(X: np.ndarray, y: np.ndarray, seed: int) -> object:
    from pulearn import BaggingPuClassifier

    n_bag = int(y.sum())
    model = BaggingPuClassifier(
        n_estimators=200, max_samples=n_bag, oob_score=False, random_state=seed
    )
    return model.fit(X, y)


def cleanlab(X: np.ndarray, y: np.ndarray, seed: int) -> object:
    from cleanlab.classification import CleanLearning

    model = CleanLearning(
        trees(seed),
        seed=seed,
        cv_n_folds=5,
        pulearning=1,
        find_label_issues_kwargs={"n_jobs": 1},  # a process of joblib can have none of its own
        verbose=False,
    )
    return model.fit(X, y)


OTHERS: dict[str, Model] = {
    "unlabelled as negative": unlabelled_as_negative,
    "Elkan-Noto": elkan_noto,
    "full supervision": full_supervision,
    "nnPU told the prior": nnpu_told_the_prior,
}
PACKAGES: dict[str, Model] = {
    "pulearn Elkan-Noto": of_another_package(pulearn_elkan_noto),
    "pulearn weighted": of_another_package(pulearn_weighted),
    "pulearn bagging": of_another_package(pulearn_bagging),
    "cleanlab": of_another_package(cleanlab),
}
