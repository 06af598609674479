"""Texts: find more like the few that you know.

    python examples/text.py

The texts are the documentation of scikit-learn's own functions and classes. Those that come from
``sklearn.metrics`` are the positives, and half of them are labelled. Words become a sparse table;
trees take it as it is.
"""

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score
from sklearn.utils.discovery import all_displays, all_estimators, all_functions

from varpu import PUClassifier

things = sorted({*all_functions(), *all_estimators(), *all_displays()}, key=lambda pair: pair[0])
things = [(name, thing) for name, thing in things if thing.__doc__]
texts = [thing.__doc__ for _, thing in things]
truth = np.array([thing.__module__.startswith("sklearn.metrics") for _, thing in things])
known = truth & (np.random.default_rng(0).random(len(truth)) < 0.5)

words = TfidfVectorizer(min_df=5, max_df=0.5, sublinear_tf=True, max_features=800)
X = words.fit_transform(texts)
model = PUClassifier(random_state=0).fit(X, known)
score = model.decision_function(X)
order = np.argsort(-np.where(known, -np.inf, score))
print(f"{known.sum()} known of {truth.sum()}, among {len(texts)} texts")
print("found first:", ", ".join(things[i][0] for i in order[:6]))
print(f"AUC on the unlabelled texts: {roc_auc_score(truth[~known], score[~known]):.2f}")
