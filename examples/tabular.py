"""A table with gaps and categories: which of the unlabelled rows are positive, and how many?

    python examples/tabular.py

Tumours from the data that ships with scikit-learn. One malignant tumour in four is known to be so;
nobody has looked at the others. One column has gaps and one is made a category, as it is in life.
"""

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

from varpu import PUClassifier

X, target = load_breast_cancer(return_X_y=True, as_frame=True)
malignant = (target == 0).to_numpy()
random = np.random.default_rng(0)
X["mean area"] = pd.cut(X["mean area"], [0, 400, 700, 1000, np.inf], labels=list("SMLX"))
X.loc[random.random(len(X)) < 0.2, "mean texture"] = np.nan
known = malignant & (random.random(len(X)) < 0.25)

model = PUClassifier(families=["trees", "kernels"], random_state=0).fit(X, known)
low, high = model.prior_interval_
print(f"known positives     {known.sum()} of {len(X)} rows")
print(f"share of positives  {model.prior_:.2f} ({low:.2f} to {high:.2f}); the truth is", end=" ")
print(f"{malignant.mean():.2f}")

chance = pd.Series(model.predict_proba(X)[:, 1], index=X.index)[~known].sort_values(ascending=False)
print("to look at first    rows", ", ".join(map(str, chance.index[:5])))
print(f"of the first 50     {malignant[chance.index[:50]].mean():.0%} are malignant")
right = (model.predict(X) == malignant)[~known].mean()
print(f"accuracy            {right:.1%} of unlabelled rows")
