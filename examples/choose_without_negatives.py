"""Pick a classifier on positives and unlabelled rows alone, then look at the truth.

    python examples/choose_without_negatives.py

The positives are the digits with a loop, 0, 6, 8 and 9; one in five of them is labelled. Three
classifiers are compared by the held-out variational loss, which needs no negative. The accuracy on
new rows, which does need the truth, is shown beside it: the choice should agree with it.
"""

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from varpu import PUClassifier
from varpu.metrics import neg_variational_scorer
from varpu.model_selection import PUStratifiedKFold

X, digit = load_digits(return_X_y=True)
truth = np.isin(digit, [0, 6, 8, 9])
X, X_new, truth, truth_new = train_test_split(X, truth, test_size=0.4, random_state=0)
y = truth & (np.random.default_rng(0).random(len(truth)) < 0.2)

candidates = {
    # Leaves of one row would say "never" to held-out positives, and the loss would be infinite.
    "random forest": RandomForestClassifier(min_samples_leaf=5, random_state=0),
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "PUClassifier": PUClassifier(families=["trees", "kernels"], random_state=0),
}
folds = PUStratifiedKFold(random_state=0)
print(f"{y.sum()} labelled positives, {(~y).sum()} unlabelled rows\n")
print(f"{'':22s}{'-L_var, held out':>18s}{'accuracy, truth':>17s}")
for name, candidate in candidates.items():
    chosen_by = cross_val_score(candidate, X, y, scoring=neg_variational_scorer, cv=folds).mean()
    accuracy = (clone(candidate).fit(X, y).predict(X_new) == truth_new).mean()
    print(f"{name:22s}{chosen_by:18.3f}{accuracy:17.1%}")
