"""Your own training loop: the losses are functions of ``log Phi``.

    python examples/training_loop.py

Two moons; the upper one is positive, 60 of its 500 points are labelled. Plain torch: a batch of
positives, a batch of the marginal sample, the variational loss with the paper's MixUp penalty.
"""

import torch
from sklearn.datasets import make_moons
from torch import nn
from torch.nn.functional import logsigmoid

from varpu import losses

torch.manual_seed(0)
points, moon = make_moons(1000, noise=0.15, random_state=0)
X, truth = torch.tensor(points, dtype=torch.float32), torch.tensor(moon == 0)
positives = X[truth][:60]  # the points come in random order

network = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
adam = torch.optim.Adam(network.parameters(), lr=3e-3, betas=(0.5, 0.99))
mixing = torch.distributions.Beta(0.3, 0.3)


def log_phi(x):
    """``log Phi``, from the network's logit."""
    return logsigmoid(network(x).squeeze(-1))


for _ in range(600):
    x_p = positives[torch.randint(len(positives), (100,))]
    x_u = X[torch.randint(len(X), (100,))]
    gamma = mixing.sample()
    log_phi_u = log_phi(x_u)
    loss = losses.variational(log_phi(x_p), log_phi_u)
    loss = loss + 0.3 * losses.mixup(log_phi(losses.mix(x_p, x_u, gamma)), log_phi_u, gamma)
    adam.zero_grad()
    loss.backward()
    adam.step()

with torch.no_grad():
    score = log_phi(X)
    # The loss leaves the scale open. The paper's way to fix it: the largest Phi is 1.
    positive = score - score.max() > torch.log(torch.tensor(0.5))
print(f"last loss {loss.item():.2f}; accuracy {(positive == truth).float().mean():.1%}")
