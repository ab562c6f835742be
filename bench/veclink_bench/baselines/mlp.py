"""A small neural network from A's space to B's, trained on the seeds."""

from __future__ import annotations

from typing import Any

import numpy as np

from veclink.data.links import Links
from veclink.errors import needed
from veclink.geometry.clouds import Cloud
from veclink.linkers.anchors import Anchors
from veclink_bench.baselines.finishing import mutual_links, within_span

HIDDEN = 512


def mlp(
    a: Cloud,
    b: Cloud,
    anchors: Anchors,
    *,
    rate: float = 1e-2,
    decay: float = 1e-5,
    epochs: int = 100,
    hidden: int = HIDDEN,
    project: bool = False,
    k: int = 50,
    device: str = "cpu",
    memory: int | str | None = None,
    random_state: int = 0,
) -> Links:
    """Links by a network with one hidden layer of ReLU units; loss 1 − cosine over the anchors, full batches, Adam.

    project: compare within the span of the anchors only.
    """
    torch = needed("torch", "The MLP baseline", "veclink[torch]")
    chance = torch.Generator().manual_seed(random_state)
    left, right = torch.tensor(anchors.left), torch.tensor(anchors.right)
    layers = [_layer(torch, left.shape[1], hidden, chance), _layer(torch, hidden, right.shape[1], chance)]
    weights = [each.requires_grad_() for layer in layers for each in layer]
    descent = torch.optim.Adam(weights, lr=rate, weight_decay=decay)

    def mapped(rows: Any) -> Any:
        (first, first_bias), (second, second_bias) = layers
        return torch.relu(rows @ first + first_bias) @ second + second_bias

    for _ in range(epochs):
        descent.zero_grad()
        loss = (1 - torch.nn.functional.cosine_similarity(mapped(left), right)).mean()
        loss.backward()
        descent.step()
    with torch.no_grad():
        rows: np.ndarray = mapped(torch.tensor(a.dense())).numpy()
    options = {"rate": rate, "decay": decay, "epochs": epochs, "hidden": hidden, "project": project, "k": k}
    sides = within_span(anchors, rows, b.dense()) if project else (rows, b.dense())
    return mutual_links("mlp", a, b, *sides, anchors, k=k, device=device, memory=memory, options=options)


def _layer(torch: Any, inputs: int, outputs: int, chance: Any) -> tuple:
    """Weights and biases, uniform within ±1/√inputs, as torch's own layers begin."""
    bound = inputs**-0.5
    uniform = [torch.rand(shape, generator=chance) for shape in ((inputs, outputs), (outputs,))]
    return tuple((2 * each - 1) * bound for each in uniform)
