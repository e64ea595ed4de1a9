"""Times the peers' private gradient step and prints one JSON object per line.

Run by `cargo xtask bench inference`, which installs torch and opacus into a virtual environment. The same step as ours:
mean-field logistic regression of 108 inputs on a shard of 2,000 rows, Poisson batches of 100 expected rows, clipping to 2,
Gaussian noise, Adam. One thread, single precision, CPU time of the thread, median over many steps; the data set sits in
memory as one dense tensor and no loader is used. Then the same for a network of 50 hidden units. The noise is PyTorch's floating-point noise, not an exact one.
"""

import json
import time

import torch
from opacus.grad_sample import GradSampleModule, register_grad_sampler
from opacus.optimizers import DPOptimizer
from torch import nn
from torch.func import grad, vmap

ROWS, WIDTH, DENSE, ONES = 2000, 108, 6, 8
RATE, CLIP, DEVIATION, LEARNING_RATE = 0.05, 2.0, 4.0, 1e-3
WARM_UP, STEPS = 200, 1000

# σ(a) ≈ Σ wₖ Φ(cₖ a) (Monahan and Stefanski 1992, k = 4)
WEIGHT = torch.tensor([0.0600855372, 0.3702222025, 0.4601751306, 0.1095171297])
SLOPE = torch.tensor([0.3206154417, 0.4737439370, 0.6960643637, 1.0193676932])


def shard():
    """Six numbers between −1 and 1, and eight ones, one in each block of the other inputs."""
    block = (WIDTH - DENSE) // ONES
    x = torch.zeros(ROWS, WIDTH)
    x[:, :DENSE] = 2 * torch.rand(ROWS, DENSE) - 1
    for b in range(ONES):
        x[torch.arange(ROWS), DENSE + b * block + torch.randint(block, (ROWS,))] = 1
    return x, torch.randint(2, (ROWS,)).float()


def batch(x, y):
    rows = (torch.rand(ROWS) < RATE).nonzero().squeeze(1)
    return x[rows], y[rows]


def start():
    return torch.cat([torch.full((WIDTH,), 0.1), torch.full((WIDTH,), -0.7)])


def vmapped(x, y):
    """Per-example gradients by torch.func: vmap of grad."""
    mean, log_s = (nn.Parameter(p.clone()) for p in start().split(WIDTH))
    adam = torch.optim.Adam([mean, log_s], lr=LEARNING_RATE)

    def loss(mean, log_s, draw, x, y):
        a = x @ (mean + log_s.exp() * draw)
        return nn.functional.softplus(a) - y * a

    per_example = vmap(grad(loss, argnums=(0, 1)), in_dims=(None, None, None, 0, 0))

    def step():
        gradients = per_example(mean.detach(), log_s.detach(), torch.randn(WIDTH), *batch(x, y))
        norms = sum(g.square().sum(1) for g in gradients).sqrt()
        factors = (CLIP / norms.clamp(min=1e-12)).clamp(max=1)
        for parameter, g in zip((mean, log_s), gradients):
            parameter.grad = factors @ g + DEVIATION * torch.randn(WIDTH)
        adam.step()

    return step


def by_hand(x, y):
    """Gradients written out. Norms come from the rows' squares, and no per-example gradient is ever stored."""
    q = nn.Parameter(start())
    adam = torch.optim.Adam([q], lr=LEARNING_RATE, fused=True)
    squares = x.square()

    @torch.no_grad()
    def step():
        rows = (torch.rand(ROWS) < RATE).nonzero().squeeze(1)
        some, some_squares = x[rows], squares[rows]
        shift = q[WIDTH:].exp() * torch.randn(WIDTH)
        residual = torch.sigmoid(some @ (q[:WIDTH] + shift)) - y[rows]
        norms = residual.abs() * (some_squares @ (1 + shift.square())).sqrt()
        pull = (residual * (CLIP / norms.clamp(min=1e-12)).clamp(max=1)) @ some
        q.grad = torch.cat([pull, pull * shift]).add_(torch.randn(2 * WIDTH), alpha=DEVIATION)
        adam.step()

    return step


def by_hand_closed_form(x, y):
    """The same with expectations in closed form, by the mixture of four normal distribution functions."""
    q = nn.Parameter(start())
    adam = torch.optim.Adam([q], lr=LEARNING_RATE, fused=True)
    squares = x.square()

    @torch.no_grad()
    def step():
        rows = (torch.rand(ROWS) < RATE).nonzero().squeeze(1)
        some, some_squares = x[rows], squares[rows]
        variance = (2 * q[WIDTH:]).exp()
        a, v = some @ q[:WIDTH], some_squares @ variance
        shrunk = SLOPE / (1 + SLOPE.square() * v.unsqueeze(1)).sqrt()
        z = shrunk * a.unsqueeze(1)
        residual = torch.special.ndtr(z) @ WEIGHT - y[rows]
        curvature = ((-0.5 * z.square()).exp() * shrunk) @ WEIGHT * 0.3989422804014327
        norms = (residual.square() * some_squares.sum(1) + curvature.square() * (some_squares.square() @ variance.square())).sqrt()
        factors = (CLIP / norms.clamp(min=1e-12)).clamp(max=1)
        q.grad = torch.cat([(factors * residual) @ some, ((factors * curvature) @ some_squares) * variance])
        q.grad.add_(torch.randn(2 * WIDTH), alpha=DEVIATION)
        adam.step()

    return step


class MeanField(nn.Module):
    """xᵀ(μ + s∘ε), with one ε for the whole batch."""

    def __init__(self):
        super().__init__()
        self.mean, self.log_s = (nn.Parameter(p.clone()) for p in start().split(WIDTH))
        self.draw = torch.zeros(WIDTH)

    def forward(self, x):
        return x @ (self.mean + self.log_s.exp() * self.draw)


@register_grad_sampler(MeanField)
def per_example_gradients(layer, activations, backprops):
    by_mean = backprops.unsqueeze(1) * activations[0]
    return {layer.mean: by_mean, layer.log_s: by_mean * (layer.log_s.exp() * layer.draw)}


def by_opacus(x, y):
    """Opacus: its hooks with a hand-written sampler of gradients, and its optimiser."""
    layer = MeanField()
    model = GradSampleModule(layer, batch_first=True, loss_reduction="sum")
    adam = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    private = DPOptimizer(adam, noise_multiplier=DEVIATION / CLIP, max_grad_norm=CLIP, expected_batch_size=RATE * ROWS, loss_reduction="sum")

    def step():
        some, outcomes = batch(x, y)
        layer.draw = torch.randn(WIDTH)
        private.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(model(some), outcomes, reduction="sum").backward()
        private.step()

    return step


HIDDEN = 50
SIZES = [WIDTH * HIDDEN, HIDDEN, 1]  # weights to the hidden layer, from it, and the output's bias


def vmapped_network(x, y):
    """The papers' network of 50 ReLU units, one draw of its weights, by vmap of grad."""
    mean, log_s = nn.Parameter(torch.full((sum(SIZES),), 0.1)), nn.Parameter(torch.full((sum(SIZES),), -0.7))
    adam = torch.optim.Adam([mean, log_s], lr=LEARNING_RATE)

    def loss(mean, log_s, draw, x, y):
        first, second, bias = (mean + log_s.exp() * draw).split(SIZES)
        a = torch.relu(x @ first.view(WIDTH, HIDDEN)) @ second + bias.squeeze()
        return nn.functional.softplus(a) - y * a

    per_example = vmap(grad(loss, argnums=(0, 1)), in_dims=(None, None, None, 0, 0))

    def step():
        gradients = per_example(mean.detach(), log_s.detach(), torch.randn(sum(SIZES)), *batch(x, y))
        norms = sum(g.square().sum(1) for g in gradients).sqrt()
        factors = (CLIP / norms.clamp(min=1e-12)).clamp(max=1)
        for parameter, g in zip((mean, log_s), gradients):
            parameter.grad = factors @ g + DEVIATION * torch.randn(sum(SIZES))
        adam.step()

    return step


class MeanFieldLinear(nn.Module):
    """A layer whose weights μ + s∘ε are drawn once for the whole batch; its last input may be a one."""

    def __init__(self, inputs, outputs, bias):
        super().__init__()
        shape = (inputs + bias, outputs)
        self.mean, self.log_s = nn.Parameter(torch.full(shape, 0.1)), nn.Parameter(torch.full(shape, -0.7))
        self.draw, self.bias = torch.zeros(shape), bias

    def inputs(self, x):
        return torch.cat([x, torch.ones(len(x), 1)], 1) if self.bias else x

    def forward(self, x):
        return self.inputs(x) @ (self.mean + self.log_s.exp() * self.draw)


@register_grad_sampler(MeanFieldLinear)
def per_example_gradients_of_a_layer(layer, activations, backprops):
    by_mean = torch.einsum("bi,bo->bio", layer.inputs(activations[0]), backprops)
    return {layer.mean: by_mean, layer.log_s: by_mean * (layer.log_s.exp() * layer.draw)}


def network_by_opacus(x, y):
    """The same by Opacus, whose hooks form the gradients of every row."""
    layers = [MeanFieldLinear(WIDTH, HIDDEN, False), MeanFieldLinear(HIDDEN, 1, True)]
    model = GradSampleModule(nn.Sequential(layers[0], nn.ReLU(), layers[1]), batch_first=True, loss_reduction="sum")
    adam = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    private = DPOptimizer(adam, noise_multiplier=DEVIATION / CLIP, max_grad_norm=CLIP, expected_batch_size=RATE * ROWS, loss_reduction="sum")

    def step():
        some, outcomes = batch(x, y)
        for layer in layers:
            layer.draw = torch.randn(layer.mean.shape)
        private.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(model(some).squeeze(1), outcomes, reduction="sum").backward()
        private.step()

    return step


def report(peer, variant, make):
    torch.manual_seed(1)
    try:
        step, times = make(*shard()), []
        for _ in range(WARM_UP + STEPS):
            before = time.thread_time_ns()
            step()
            times.append((time.thread_time_ns() - before) / 1e3)
        answer = {"microseconds": round(sorted(times[WARM_UP:])[STEPS // 2], 1)}
    except Exception as error:  # a peer that fails is a result too
        answer = {"error": f"{type(error).__name__}: {error}"[:120].replace('"', "'").replace("\n", " ")}
    print(json.dumps({"peer": peer, "variant": variant} | answer), flush=True)


torch.set_num_threads(1)
report("PyTorch, vmap", "one sample", vmapped)
report("PyTorch, by hand", "one sample", by_hand)
report("Opacus", "one sample", by_opacus)
report("PyTorch, by hand", "closed form", by_hand_closed_form)
report("PyTorch, vmap", "network", vmapped_network)
report("Opacus", "network", network_by_opacus)
