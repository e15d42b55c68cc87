"""Where a training step's time goes: the network's layers one by one, forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from flax import nnx

from jaxcap.experiments.mnist import DEVICE
from jaxcap.experiments.mnist_changes import PATCHES, STEPS, WINOGRAD
from jaxcap.measure.experiment import Experiment, Points, grid
from jaxcap.measure.sampling import Variants
from jaxcap.mnist import layers, layers_torch, model_torch
from jaxcap.mnist.config import Settings
from jaxcap.mnist.model import CNN
from jaxcap.mnist.train_flax import Convolution, State, layer_options

FORWARD, BACKWARD, UPDATE = TASKS = "forward", "backward", "update"
ALL = "all layers"
#: By the way to train, how it convolves.
CONVOLUTIONS: dict[str, Convolution] = {STEPS: "xla", PATCHES: "patches", WINOGRAD: "winograd"}
# Rows, columns and channels of each layer's input and output.
_SHAPES = {
    "conv1": ((28, 28, 1), (26, 26, 32)),
    "conv2": ((26, 26, 32), (24, 24, 64)),
    "pool, dropout": ((24, 24, 64), (12, 12, 64)),
    "dense layers": ((12, 12, 64), (10,)),
}
_SETTINGS = Settings()
_DESCENT = optax.sgd(_SETTINGS.learning_rate, _SETTINGS.momentum)


def prepare(layer: str, task: str, batch: int) -> Variants:
    """Prepare one layer's part of a training step, as each way to train computes it.

    Parameters
    ----------
    layer
        A name of `jaxcap.mnist.layers.LAYERS`, or ``"all layers"``.
    task
        ``"forward"``, ``"backward"`` or, for all layers, ``"update"``: a step of the optimiser.
    batch
        Number of images.
    """
    if task == UPDATE:
        return {name: _flax_update() for name in CONVOLUTIONS} | {DEVICE: _torch_update()}
    x, gradient = inputs(layer, batch)
    variants = {
        name: in_flax(convolution, layer, task, x, gradient)
        for name, convolution in CONVOLUTIONS.items()
    }
    return variants | {DEVICE: in_torch(layer, task, x, gradient)}


def inputs(layer: str, batch: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw a layer's input and the gradient of its output, with channels last."""
    rng = np.random.default_rng(0)
    x, gradient = (rng.standard_normal((batch, *shape), np.float32) for shape in _SHAPES[layer])
    return x, gradient


def in_flax(
    convolution: Convolution,
    layer: str,
    task: str,
    x: np.ndarray,
    gradient: np.ndarray,
    *,
    dropout: bool = True,
) -> Callable[[], Any]:
    """Bind a layer of the Flax network, or its gradients, to an input."""
    network = _flax_network(convolution)
    key = jax.random.key(_SETTINGS.seed) if dropout else None
    forward = layers.forward(layer, network, jnp.asarray(x), key)
    if task == FORWARD:
        return forward
    _, gradients = forward()
    return partial(layers.backward, gradients, jnp.asarray(gradient))


@cache
def _flax_network(convolution: Convolution) -> CNN:
    """Return a network with the weights that all ways share, since to draw them takes a second."""
    options = layer_options(convolution)
    graph = nnx.graphdef(nnx.eval_shape(lambda: CNN(nnx.Rngs(0), **options)))
    network: CNN = nnx.merge(graph, _weights())
    return network


@cache
def _weights() -> Any:
    return nnx.state(CNN(nnx.Rngs(_SETTINGS.seed)))


def in_torch(
    layer: str, task: str, x: np.ndarray, gradient: np.ndarray, *, dropout: bool = True
) -> Callable[[], Any]:
    """Bind a layer of the PyTorch network, or its gradients, to an input."""
    network = _torch_network().train(dropout)
    pixels, by_output = (_channels_first(array) for array in (x, gradient))
    pixels.requires_grad_(layer != layers.FIRST)
    forward = partial(layers_torch.LAYERS[layer], network, pixels)
    if task == FORWARD:
        return forward
    modules = layers.LAYERS[layer].modules
    inputs = [w for module in modules for w in getattr(network, module).parameters()]
    inputs += [pixels] * pixels.requires_grad
    return partial(torch.autograd.grad, forward(), inputs, by_output, retain_graph=True)


@cache
def _torch_network() -> model_torch.CNN:
    network = model_torch.CNN()
    network.load_state_dict(model_torch.from_flax(nnx.to_pure_dict(_weights())))
    return network.to(_torch_device())


def _channels_first(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.moveaxis(array, -1, 1).copy()).to(_torch_device())


def _torch_device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


@partial(jax.jit, donate_argnames="state")
def _descend(state: State, gradient: Any) -> State:
    updates, momentum = _DESCENT.update(gradient, state.optimizer)
    return State(optax.apply_updates(state.params, updates), momentum)


def _flax_update() -> Callable[[], Any]:
    """Return a function that updates the weights again and again, in place as a training does."""
    gradient = _weights()
    params = jax.tree.map(jnp.copy, gradient)
    state = State(params, _DESCENT.init(params))

    def update() -> Any:
        nonlocal state
        state = _descend(state, gradient)
        return state

    return update


def _torch_update() -> Callable[[], Any]:
    """Return the same for PyTorch."""
    parameters = list(deepcopy(_torch_network()).parameters())
    for parameter in parameters:
        parameter.grad = parameter.detach().clone()
    descent = torch.optim.SGD(parameters, _SETTINGS.learning_rate, _SETTINGS.momentum)

    def update() -> Sequence[torch.Tensor]:
        descent.step()
        return parameters

    return update


def _points(batch: int) -> Points:
    of_layers = grid(layer=layers.LAYERS, task=(FORWARD, BACKWARD), batch=(batch,))
    return [*of_layers, *grid(layer=(ALL,), task=(UPDATE,), batch=(batch,))]


#: In a step, XLA can fuse what belongs to two layers, so the parts needn't add up to the whole.
LAYERS = Experiment(
    name="mnist layers",
    title="Where a training step's time goes",
    prepare=prepare,
    quick=_points(32),
    full=_points(128),
    empty_caches=False,  # each way is another program
)
