"""VPU as one would first write it: the yardstick of ``benchmarks/cpu.py``.

Data loaders over labelled tensors, eager float32, torch's Adam, a forward pass for the batch and
one for the mixed rows, the running losses read off every step, and after every epoch a full
evaluation: the held-out loss, the largest Phi of the training rows and the test accuracy.
"""

import math

import tasks
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from varpu.training import Member, Recipe


def fit(rows: tasks.Rows, member: Member, recipe: Recipe, net: nn.Module) -> float:
    """Train and return the test accuracy at the epoch with the least held-out loss."""
    X, y = torch.tensor(rows.X), torch.tensor(rows.y).long()
    X_test, y_test = torch.tensor(rows.X_test), torch.tensor(rows.y_test).long()

    def loader(X: Tensor, y: Tensor, train: bool) -> DataLoader:
        data = TensorDataset(X, y)
        return DataLoader(data, recipe.batch_size, shuffle=train, drop_last=train)

    p_loader, u_loader = (loader(X[own], y[own], True) for own in (member.p, member.u))
    held_out_p, held_out_u = (
        loader(X[own], y[own], False) for own in (member.held_out_p, member.held_out_u)
    )
    test_loader = loader(X_test, y_test, False)
    beta = torch.distributions.Beta(recipe.alpha, recipe.alpha)
    lr = member.lr
    optimizer = torch.optim.Adam(net.parameters(), lr=lr, betas=recipe.betas)
    best_loss, best_accuracy = math.inf, 0.0
    for epoch in range(recipe.epochs):
        if epoch in recipe.lr_milestones:
            lr *= recipe.lr_decay
            optimizer = torch.optim.Adam(net.parameters(), lr=lr, betas=recipe.betas)
        _train_epoch(net, optimizer, p_loader, u_loader, beta, member.lam, recipe)
        loss, accuracy = _evaluate(net, u_loader, held_out_p, held_out_u, test_loader)
        if loss < best_loss:
            best_loss, best_accuracy = loss, accuracy
    return best_accuracy


def _train_epoch(
    net: nn.Module,
    optimizer: torch.optim.Optimizer,
    p_loader: DataLoader,
    u_loader: DataLoader,
    beta: torch.distributions.Beta,
    lam: float,
    recipe: Recipe,
) -> float:
    net.train()
    p_batches, u_batches = iter(p_loader), iter(u_loader)
    running = 0.0
    for _ in range(recipe.steps_per_epoch):
        try:
            x_p, _ = next(p_batches)
        except StopIteration:
            p_batches = iter(p_loader)
            x_p, _ = next(p_batches)
        try:
            x_u, _ = next(u_batches)
        except StopIteration:
            u_batches = iter(u_loader)
            x_u, _ = next(u_batches)
        log_phi = torch.log_softmax(net(torch.cat([x_p, x_u])), dim=1)[:, 1]
        log_phi_p, log_phi_u = log_phi[: len(x_p)], log_phi[len(x_p) :]
        loss = torch.logsumexp(log_phi_u, 0) - math.log(len(x_u)) - log_phi_p.mean()
        gamma = beta.sample()
        mixed = torch.log_softmax(net(gamma * x_p + (1 - gamma) * x_u), dim=1)[:, 1]
        target = gamma + (1 - gamma) * log_phi_u.exp()
        penalty = (target.log() - mixed).square().mean()
        total = loss + lam * penalty
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        running += total.item()
    return running / recipe.steps_per_epoch


@torch.no_grad()
def _evaluate(
    net: nn.Module,
    u_loader: DataLoader,
    held_out_p: DataLoader,
    held_out_u: DataLoader,
    test_loader: DataLoader,
) -> tuple[float, float]:
    net.eval()

    def scores(loader: DataLoader) -> Tensor:
        return torch.cat([torch.log_softmax(net(x), dim=1)[:, 1] for x, _ in loader])

    log_phi_u = scores(held_out_u)
    loss = torch.logsumexp(log_phi_u, 0) - math.log(len(log_phi_u)) - scores(held_out_p).mean()
    positive = scores(test_loader) - scores(u_loader).max() > math.log(0.5)
    truth = torch.cat([y for _, y in test_loader])
    return loss.item(), (positive == truth).float().mean().item()
