"""A training step against a textbook loop: one member, float64, Phi in plain sight."""

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn.functional import normalize

from varpu.nets import StackedMLP, logit
from varpu.training import LOSSES, PENALTIES, DeviceRows, Risk, train
from varpu.training import draws as hashes
from varpu.training.rows import RowStream
from varpu.training.step import MemberAdam


def fresh(task, seed):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return task.factory().double()


class Textbook:
    """What the authors' program does, with the penalties and losses of the paper's supplement."""

    def __init__(self, task, member, recipe):
        self.X, self.member, self.recipe = task.X.double(), member, recipe
        self.seeds = torch.tensor([member.seed])
        self.network = fresh(task, member.seed)
        critic_seed = int(hashes.hashed(self.seeds, hashes.STREAM_CRITIC)) & 0x7FFFFFFF
        self.critic = fresh(task, critic_seed)
        self.sums = []

    def phi(self, x):
        return torch.sigmoid(logit(self.network(x)))

    def run(self):
        lr = self.member.lr
        for epoch in range(self.recipe.epochs):
            if epoch in self.recipe.lr_milestones:
                lr *= self.recipe.lr_decay
            if epoch == 0 or epoch in self.recipe.lr_milestones:  # Adam is made anew
                betas = self.recipe.betas
                decay = self.recipe.weight_decay
                adams = [
                    torch.optim.Adam(network.parameters(), lr, betas, weight_decay=decay)
                    for network in (self.network, self.critic)
                ]
            values = []
            for x_p, x_u, gamma, pairs, noise in self.batches(epoch):
                if self.recipe.risk:
                    loss, penalty = self.risk(x_p, x_u, gamma), 0 * x_p.sum()
                else:
                    loss = self.loss(x_p, x_u)
                    penalty = self.penalty(x_p, x_u, gamma, pairs, noise)
                self.step(adams, loss, penalty)
                shown = 0 * loss.detach() if self.recipe.loss == "js" else loss.detach()
                values.append(torch.stack([shown, penalty.detach()]))
            self.sums.append(torch.stack(values).mean(dim=0))
        return self

    def batches(self, epoch):
        member, steps, batch = self.member, self.recipe.steps_per_epoch, self.recipe.batch_size
        rows_p = RowStream([member.p], batch, steps, self.seeds, hashes.STREAM_P).epoch(epoch)
        rows_u = RowStream([member.u], batch, steps, self.seeds, hashes.STREAM_U).epoch(epoch)
        gammas = hashes.mixing_weights([member.seed], self.recipe.alpha, self.recipe.epochs, steps)[
            epoch
        ]
        pairs = hashes.permutations(
            self.seeds, hashes.STREAM_PAIRS, epoch, steps, torch.tensor([2 * batch])
        )[0]
        for t in range(steps):
            counter = torch.tensor([epoch * steps + t])
            noise = hashes.normal(self.seeds, counter, (batch, self.X.shape[1]))[0].double()
            gamma = gammas[t, 0].double().clamp(1e-6, 1 - 1e-6)
            yield self.X[rows_p[t, 0]], self.X[rows_u[t, 0]], gamma, pairs[t], noise

    def step(self, adams, loss, penalty):
        for adam in adams:
            adam.zero_grad()
        (loss + self.member.lam * penalty).backward()
        for parameter in self.critic.parameters():  # the critic climbs
            if parameter.grad is not None:
                parameter.grad.neg_()
        for adam in adams:
            adam.step()

    def loss(self, x_p, x_u):
        phi_p, phi_u = self.phi(x_p), self.phi(x_u)
        if self.recipe.loss == "variational":
            return phi_u.mean().log() - phi_p.log().mean()
        if self.recipe.loss == "l2":
            mean = phi_u.mean()
            return phi_u.square().mean() / mean.square() - 2 * phi_p.mean() / mean
        d_p, d_u = (torch.sigmoid(logit(self.critic(x))) for x in (x_p, x_u))
        return d_p.log().mean() + (phi_u / phi_u.sum() * (1 - d_u).log()).sum()

    def risk(self, x_p, x_u, gamma):
        """With Phi for the sigmoid loss: that of a positive is 1 - Phi, of a negative Phi."""
        risk, prior = self.recipe.risk, self.member.prior
        is_sigmoid = risk.surrogate == "sigmoid"

        def wrong(x):
            return self.phi(x) if is_sigmoid else -torch.log(1 - self.phi(x))

        missed = 1 - self.phi(x_p) if is_sigmoid else -self.phi(x_p).log()
        if risk.mixup:
            x_u = torch.cat([x_u, gamma * x_u + (1 - gamma) * x_u.roll(1, 0)])
        if risk.kind == "supervised":
            return prior * missed.mean() + (1 - prior) * wrong(x_u).mean()
        negative = wrong(x_u).mean() - prior * wrong(x_p).mean()
        if risk.kind == "nnpu" and negative < -risk.beta:
            return -risk.gamma * negative
        return prior * missed.mean() + negative

    def penalty(self, x_p, x_u, gamma, pairs, noise):
        name, epsilon = self.recipe.penalty, self.recipe.epsilon
        if name is None:
            return 0 * x_p.sum()
        if name in ("mixup", "mixup_mse"):
            target = gamma + (1 - gamma) * self.phi(x_u)
            mixed = self.phi(gamma * x_p + (1 - gamma) * x_u)
            if name == "mixup_mse":
                return (target - mixed).square().mean()
            return (target.log() - mixed.log()).square().mean()
        if name == "mixup_p":
            return self.phi(gamma * x_p + (1 - gamma) * x_p.roll(1, 0)).log().square().mean()
        if name == "mixup_pu":
            x = torch.cat([x_p, x_u])[pairs]
            value = torch.cat([torch.ones(len(x_p)), self.phi(x_u)])[pairs]
            half = len(x_p)
            mixed = self.phi(gamma * x[:half] + (1 - gamma) * x[half:])
            target = gamma * value[:half] + (1 - gamma) * value[half:]
            return (target.log() - mixed.log()).square().mean()
        if name == "margin":
            phi = self.phi(x_p)
            return torch.log(1 + self.recipe.alpha * (1 - phi) / phi).mean()
        if name == "adversarial":
            x = x_p.clone().requires_grad_()
            (slope,) = torch.autograd.grad(self.phi(x).sum(), x)
            return -self.phi(x_p - epsilon * slope.sign()).log().mean()
        assert name == "vat"
        p = self.phi(x_u).detach()

        def divergence(x):
            q = self.phi(x)
            return p * (p / q).log() + (1 - p) * ((1 - p) / (1 - q)).log()

        x = (x_u + 1e-2 * normalize(noise, dim=1)).requires_grad_()
        (slope,) = torch.autograd.grad(divergence(x).sum(), x)
        return divergence(x_u + epsilon * normalize(slope, dim=1, eps=1e-300)).mean()


def assert_same_state(actual, expected, atol):
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(actual[name].double(), value.double(), rtol=0, atol=atol)


@pytest.mark.parametrize("penalty", [None, *PENALTIES])
@pytest.mark.parametrize("loss", LOSSES)
def test_training_is_the_textbook_loop(task, loss, penalty):
    recipe, members = task.recipe(loss=loss, penalty=penalty), task.without_held_out()
    trained = train(task.rows, members, recipe, task.factory)
    for k, member in enumerate(members):
        textbook = Textbook(task, member, recipe).run()
        assert_same_state(trained.states[k], textbook.network.state_dict(), atol=1e-5)
        shown = torch.from_numpy(trained.history[:, :2, k])
        torch.testing.assert_close(shown, torch.stack(textbook.sums), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("decay", [0.0, 0.01])
@pytest.mark.parametrize(
    "risk",
    [
        Risk("upu"),
        Risk("upu", "logistic", mixup=True),
        Risk("nnpu"),
        Risk("nnpu", "logistic", beta=0.02, gamma=0.5),
        Risk("nnpu", mixup=True),
        Risk("supervised", "logistic"),
    ],
    ids=str,
)
def test_training_on_a_risk_is_the_textbook_loop(task, risk, decay):
    recipe = task.recipe(risk=risk, weight_decay=decay, epochs=4, steps_per_epoch=8)
    # A prior above the truth drives the negative part below zero: nnPU's step is corrected.
    members = [replace(member, prior=0.9, lr=1e-2) for member in task.without_held_out()]
    trained = train(task.rows, members, recipe, task.factory)
    for k, member in enumerate(members):
        textbook = Textbook(task, member, recipe).run()
        assert_same_state(trained.states[k], textbook.network.state_dict(), atol=1e-4)
        shown = torch.from_numpy(trained.history[:, 0, k])
        expected = torch.stack(textbook.sums)[:, 0]
        torch.testing.assert_close(shown, expected, rtol=1e-3, atol=1e-4)


def test_the_corrected_step_is_taken_in_that_test(task):
    """Otherwise nnPU would have been compared with uPU."""
    ends = []
    for kind in ("upu", "nnpu"):
        recipe = task.recipe(risk=Risk(kind), epochs=4, steps_per_epoch=8)
        members = [replace(member, prior=0.9, lr=1e-2) for member in task.without_held_out()]
        ends.append(train(task.rows, members, recipe, task.factory).history[-1, 0])
    assert abs(ends[0] - ends[1]).min() > 1e-3


def test_a_row_of_weight_two_is_that_row_twice(task):
    """Where every batch holds every row, which it does with one batch of both."""
    p, u = task.members[0].p[:8], task.members[0].u[:8]
    member = replace(task.without_held_out()[0], p=p, u=u, prior=0.3)
    recipe = task.recipe(risk=Risk("supervised", "logistic"), batch_size=8)
    weight = torch.ones(len(task.X))
    weight[p[:4]], weight[p[4:]] = 1.5, 0.5
    weighed = train(DeviceRows(task.X, weight=weight), [member], recipe, task.factory)
    copies = replace(member, p=p[[0, 1, 2, 3] * 3 + [4, 5, 6, 7]], u=u.repeat(2))
    copied = train(task.rows, [copies], replace(recipe, batch_size=16), task.factory)
    assert_same_state(weighed.states[0], copied.states[0], atol=1e-5)


def with_batch_norm():
    return nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 2))


@pytest.mark.parametrize("count", [1, 3])  # a module as it is, and a stack
def test_p_and_u_share_batch_norm_statistics_and_mixed_rows_have_their_own(task, count):
    recipe, members = task.recipe(epochs=1, steps_per_epoch=1), task.without_held_out()[:count]
    trained = train(task.rows, members, recipe, with_batch_norm)
    for k, member in enumerate(members):
        ((x_p, x_u, gamma, *_),) = Textbook(task, member, recipe).batches(0)
        with torch.random.fork_rng():
            torch.manual_seed(member.seed)
            network = with_batch_norm().double()
        phi_p, phi_u = torch.sigmoid(logit(network(torch.cat([x_p, x_u])))).chunk(2)
        mixed = torch.sigmoid(logit(network(gamma * x_p + (1 - gamma) * x_u)))
        loss = phi_u.mean().log() - phi_p.log().mean()
        penalty = ((gamma + (1 - gamma) * phi_u).log() - mixed.log()).square().mean()
        assert trained.history[0, 0, k] == pytest.approx(loss.item(), abs=1e-6)
        assert trained.history[0, 1, k] == pytest.approx(penalty.item(), abs=1e-6)
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            actual, expected = trained.states[k][f"1.{name}"], getattr(network[1], name)
            torch.testing.assert_close(actual.double(), expected.double(), rtol=0, atol=1e-6)


def test_penalty_weight_is_the_members_own_and_not_the_beta_draw(task):
    # A weight of zero leaves the plain loss, to rounding, whatever gamma is drawn.
    without = [replace(member, lam=0.0) for member in task.without_held_out()]
    plain = train(task.rows, without, task.recipe(penalty=None), task.factory)
    for alpha in (0.3, 5.0):
        recipe = task.recipe(penalty="mixup", alpha=alpha)
        weighted = train(task.rows, without, recipe, task.factory)
        for k in range(len(without)):
            assert_same_state(weighted.states[k], plain.states[k], atol=1e-6)
        assert (weighted.history[:, 1] > 0).all()  # the penalty is there, and weighs nothing


def test_the_beta_draw_mixes_the_rows(task):
    # With Beta(1e6, 1e6) gamma is one half; the penalty of the first step tells.
    recipe = task.recipe(penalty="mixup", alpha=1e6, epochs=1, steps_per_epoch=1)
    members = task.without_held_out()
    trained = train(task.rows, members, recipe, task.factory)
    for k, member in enumerate(members):
        textbook = Textbook(task, member, recipe)
        ((x_p, x_u, gamma, *_),) = textbook.batches(0)
        assert gamma == pytest.approx(0.5, abs=5e-3)
        half = torch.tensor(0.5).double()
        expected = textbook.penalty(x_p, x_u, half, None, None).item()
        assert trained.history[0, 1, k] == pytest.approx(expected, rel=5e-2)
        mended = textbook.penalty(x_p, x_u, gamma, None, None).item()
        assert trained.history[0, 1, k] == pytest.approx(mended, rel=1e-5)


def stack_of(task, count=3):
    return StackedMLP([fresh(task, seed).float() for seed in range(count)])


def objective(stack, seed):
    draws = torch.Generator().manual_seed(seed)
    return torch.tanh(stack(torch.randn(stack.n_members, 5, 3, generator=draws))).sum()


@pytest.mark.parametrize("lrs", [[1e-2, 1e-3, 1e-2], [1e-2, 1e-2, 1e-3], [1e-2] * 3])
def test_member_adam_is_an_adam_for_each_member(task, lrs):
    recipe = task.recipe(lr_milestones=(2, 3), lr_decay=0.5)
    together = stack_of(task)
    adam = MemberAdam(together, None, lrs, recipe)
    single = [stack_of(task) for _ in lrs]
    for epoch in range(5):
        adam.begin_epoch(epoch)
        if epoch in (0, *recipe.lr_milestones):
            lower = 0.5 ** sum(epoch >= milestone for milestone in recipe.lr_milestones)
            adams = [
                torch.optim.Adam(stack.parameters(), lr * lower, recipe.betas)
                for stack, lr in zip(single, lrs, strict=True)
            ]
        for step in range(3):
            adam.step(objective(together, seed=10 * epoch + step))
            for stack, own in zip(single, adams, strict=True):
                own.zero_grad()
                objective(stack, seed=10 * epoch + step).backward()
                own.step()
        for k, stack in enumerate(single):
            assert_same_state(together.states()[k], stack.states()[k], atol=1e-6)


def test_a_milestone_halves_the_learning_rate_and_clears_the_moments(task):
    recipe = task.recipe(lr_milestones=(1, 2), lr_decay=0.5)
    stack = stack_of(task)
    adam = MemberAdam(stack, None, [1e-2, 1e-2, 4e-3], recipe)
    for epoch, factor in enumerate([1.0, 0.5, 0.25, 0.25]):
        adam.begin_epoch(epoch)
        lrs = [group["lr"] for group in adam.optimizer.param_groups]
        assert lrs == [1e-2 * factor, 4e-3 * factor]
        cleared = all((value == 0).all() for value in adam.state())
        assert cleared == (epoch < 3)  # before the first step there is nothing to clear
        adam.step(objective(stack, seed=epoch))
        assert all((value != 0).any() for value in adam.state())


def test_priming_makes_the_state_and_leaves_the_weights(task):
    for lrs in ([1e-2] * 3, [1e-2, 1e-3, 1e-2]):
        stack, other = stack_of(task), stack_of(task)
        primed = MemberAdam(stack, None, lrs, task.recipe())
        primed.prime()
        stepped = MemberAdam(other, None, lrs, task.recipe())
        stepped.step(objective(other, seed=0))
        assert [v.shape for v in primed.state()] == [v.shape for v in stepped.state()]
        for actual, expected in zip(stack.tensors(), stack_of(task).tensors(), strict=True):
            assert torch.equal(actual, expected)
