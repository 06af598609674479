"""Labels in words: the larger marks positives, so it cannot be a word for "not known"."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from varpu import VPUBoostingClassifier
from varpu.checks import positive_last
from varpu.exceptions import PUInputError
from varpu.metrics import pu_roc_auc

REVERSED = [
    ("P", "U"),
    ("pos", "unl"),
    ("labelled", "unlabelled "),
    ("positive", "unlabeled"),
    ("fraud", "unknown"),
]
IN_ORDER = [("no", "yes"), ("negative", "positive"), ("U", "known"), ("lawful", "unlawful")]


@pytest.mark.parametrize("pair", REVERSED)
def test_a_word_for_rows_not_known_does_not_mark_positives(pair):
    assert sorted(pair) == list(pair)
    with pytest.raises(PUInputError, match=f"give y == '{pair[0]}' in place of y"):
        positive_last(np.array(pair))


@pytest.mark.parametrize("pair", [*IN_ORDER, (0, 1), (-1, 1), (False, True)])
def test_other_labels_are_taken_as_they_come(pair):
    positive_last(np.unique(np.array(pair)))


def test_classifiers_and_metrics_refuse_labels_the_wrong_way_round_and_say_what_to_give():
    X, truth = make_blobs(200, centers=2, random_state=0)
    y = np.where((truth == 1) & (np.arange(200) % 2 == 0), "P", "U")
    with pytest.raises(PUInputError, match="'U', which hardly means them"):
        VPUBoostingClassifier().fit(X, y)
    with pytest.raises(PUInputError, match="'U', which hardly means them"):
        pu_roc_auc(y, X[:, 0], prior=0.5)
    model = VPUBoostingClassifier(random_state=0).fit(X, y == "P")
    assert (model.predict(X) == (truth == 1)).mean() > 0.9
