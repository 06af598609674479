"""Images, and a network of your own.

    python examples/images.py

Handwritten digits that ship with scikit-learn, 8 x 8 pixels. Even digits are the positives, a third
of them is labelled. Any ``nn.Module`` that gives one logit a row will do.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

from varpu import VPUClassifier

images, digit = load_digits(return_X_y=True)
images = (images / 8 - 1).astype(np.float32).reshape(-1, 1, 8, 8)  # (n, channels, height, width)
even = digit % 2 == 0
X, X_new, truth, truth_new = train_test_split(images, even, test_size=0.3, random_state=0)
known = truth & (np.random.default_rng(0).random(len(X)) < 1 / 3)


def network():
    """Two convolutions and one logit."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 1),
    )


model = VPUClassifier(
    module=network, lr=3e-3, epochs=12, steps_per_epoch=12, cv=3, random_state=0
).fit(X, known)
print(f"{known.sum()} labelled images of {len(X)}")
print(f"held-out L_var  {model.held_out_loss_:.3f} (0 is a constant)")
print(f"prior           {model.prior_:.2f}, true {truth.mean():.2f}")
print(f"accuracy        {(model.predict(X_new) == truth_new).mean():.1%} on new images")
