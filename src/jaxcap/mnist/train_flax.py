"""Train the Flax network: as one would write it first, and as fast as the device allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax
from flax import nnx
from jax import Array
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from jaxcap.kernels.convolution import by_products, max_pool
from jaxcap.mnist.checkpoints import Arrays
from jaxcap.mnist.config import Settings
from jaxcap.mnist.data import Split, mean_and_deviation
from jaxcap.mnist.idx import Bytes
from jaxcap.mnist.model import CNN
from jaxcap.mnist.training import Done, Logits, Order, Weights, nobody, shuffled

_AT_ONCE_ON_CPU = 32


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Network:
    """What stays the same in training.

    Attributes
    ----------
    graph
        The model without its weights.
    dropout
        Whether training drops activations.
    copies
        Puts a copy of an array on each device.
    momentum
        Of the descent.
    mean, deviation
        Of the training images' pixels.
    """

    # What the program depends on: another value means to compile anew.
    graph: nnx.GraphDef[CNN] = field(metadata={"static": True})
    dropout: bool = field(metadata={"static": True})
    copies: NamedSharding = field(metadata={"static": True})
    # What it computes with.
    momentum: float
    mean: float
    deviation: float

    def optimizer(self, rate: float | Array) -> optax.GradientTransformation:
        """Return what turns gradients into steps, at a learning rate."""
        return optax.sgd(rate, self.momentum)

    def logits(self, params: Any, images: Array, key: Array | None = None) -> Array:
        """Judge images of bytes, of shape (n, 28, 28)."""
        normalised = (images[..., None] / 255.0 - self.mean) / self.deviation
        return nnx.merge(self.graph, params)(normalised, key)


class State(NamedTuple):
    """What training changes: the weights, and the optimiser's memory of past gradients."""

    params: Any
    optimizer: optax.OptState


class FlaxTrainer:
    """Trains `jaxcap.mnist.model.CNN` on images that stay on the device.

    Parameters
    ----------
    settings
        Also say with which weights to begin, by their seed.
    train
        Images to train on.
    at_once
        Steps that are compiled to one program: 1 to start each of them from Python. By default all
        of an epoch, and on a CPU as many as let a progress bar move.
    patches
        Convolve by `~jaxcap.kernels.convolution.by_products`; by default on a CPU only, where
        XLA's convolutions are slow, and very slow in a scan.
    dtype
        That the layers compute in. The weights are float32 all the same.
    mesh
        Devices that share each batch, along an axis ``"data"``; by default the first device alone.

    Raises
    ------
    ValueError
        If the devices can't have equal parts of a batch.
    """

    def __init__(
        self,
        settings: Settings,
        train: Split,
        *,
        at_once: int | None = None,
        patches: bool | None = None,
        dtype: Any = jnp.float32,
        mesh: Mesh | None = None,
    ) -> None:
        mesh = mesh or data_mesh(jax.devices()[:1])
        on_cpu = mesh.devices.flat[0].platform == "cpu"
        self.settings = settings
        self._mesh = mesh
        self._at_once = at_once or (_AT_ONCE_ON_CPU if on_cpu else None)
        _require_equal_parts(settings, mesh.size)
        patches = on_cpu if patches is None else patches
        ways: Any = {"convolve": by_products, "pool": max_pool} if patches else {}
        graph, params = nnx.split(CNN(nnx.Rngs(settings.seed), dtype=dtype, **ways))
        self._network = Network(
            graph,
            settings.dropout,
            spread(mesh),
            settings.momentum,
            *mean_and_deviation(train.images),
        )
        state = State(params, self._network.optimizer(settings.learning_rate).init(params))
        self._state, self._train = put((state, train), self._network.copies)

    def train_epoch(self, order: Order, epoch: int, done: Done = nobody) -> Array:
        """Make a step for each row of ``order``, and return their mean loss."""
        key = jax.random.fold_in(jax.random.key(self.settings.seed), epoch)
        at_once = self._at_once or len(order)
        losses = []
        for start in range(0, len(order), at_once):
            numbers = np.arange(start, min(start + at_once, len(order)))
            rates = self.settings.rate(epoch, numbers, len(order)).astype(np.float32)
            places = put(order[numbers], spread(self._mesh, None, "data"))
            self._state, some = steps(
                self._network, self._state, self._train, numbers, places, rates, key
            )
            losses.append(some)
            done(len(numbers))
        return jnp.concatenate(losses).mean()

    def logits(self, images: Bytes) -> Logits:
        """Judge images of shape (n, 28, 28); the result has the shape (n, 10)."""
        batch = self.settings.batch_size_validation
        found = []
        for start in range(0, len(images), batch):
            some = images[start : start + batch]
            # Always the same shape, so that there is one program.
            padded = np.zeros((batch, *images.shape[1:]), np.uint8)
            padded[: len(some)] = some
            logits = judge(
                self._network, self._state.params, put(padded, spread(self._mesh, "data"))
            )
            found.append(np.asarray(logits)[: len(some)])
        return np.concatenate(found)

    def weights(self) -> Weights:
        """Kernel and bias of each layer, as NumPy arrays."""
        return _as_numpy(self._state.params)

    def state(self) -> Arrays:
        """Weights and momentum."""
        return [np.asarray(leaf) for leaf in jax.tree.leaves(self._state)]

    def restore(self, state: Arrays) -> None:
        """Take over what `state` returned."""
        tree = jax.tree.structure(self._state)
        self._state = put(jax.tree.unflatten(tree, state), self._network.copies)


def data_mesh(devices: Sequence[jax.Device] | None = None) -> Mesh:
    """Lay out devices, all by default, to share each batch: along one axis, ``"data"``."""
    devices = jax.devices() if devices is None else devices
    return jax.make_mesh((len(devices),), ("data",), (AxisType.Auto,), devices=devices)


def initial_weights(seed: int) -> Weights:
    """Weights that a training begins with: kernel and bias of each layer."""
    return _as_numpy(nnx.state(CNN(nnx.Rngs(seed))))


def _as_numpy(params: Any) -> Weights:
    weights: Weights = jax.tree.map(np.asarray, nnx.to_pure_dict(params))
    return weights


def spread(mesh: Mesh, *axes: str | None) -> NamedSharding:
    """Spread an array over devices: its axis called ``"data"``, if one is, and else copies of it."""
    return NamedSharding(mesh, P(*axes))  # type: ignore[no-untyped-call]


def put(tree: Any, sharding: NamedSharding) -> Any:
    """Place arrays on the devices of all processes, each of which has them in full."""

    def place(leaf: Any) -> Array:
        array = np.asarray(leaf)
        return jax.make_array_from_callback(array.shape, sharding, array.__getitem__)

    return jax.tree.map(place, tree)


@jax.jit
def judge(network: Network, params: Any, images: Array) -> Array:
    """Return the logits of images, all of them on each device."""
    logits: Array = jax.lax.with_sharding_constraint(  # type: ignore[no-untyped-call]
        network.logits(params, images), network.copies
    )
    return logits


def mean_loss(logits: Array, labels: Array) -> Array:
    """Mean cross entropy of logits of shape (n, 10) and labels of shape (n,), in nats."""
    losses: Array = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    return losses.mean()


def step(
    network: Network, state: State, train: Split, places: Array, rate: Array, key: Array
) -> tuple[State, Array]:
    """Descend against the gradient of a batch's loss; also return the loss."""

    def loss(params: Any) -> Array:
        logits = network.logits(params, train.images[places], key if network.dropout else None)
        labels = train.labels[places].astype(jnp.int32)
        return mean_loss(logits, labels)

    value, gradient = jax.value_and_grad(loss)(state.params)
    updates, optimizer = network.optimizer(rate).update(gradient, state.optimizer)
    return State(optax.apply_updates(state.params, updates), optimizer), value


@partial(jax.jit, donate_argnames="state")
def steps(
    network: Network,
    state: State,
    train: Split,
    numbers: Array,
    places: Array,
    rates: Array,
    key: Array,
) -> tuple[State, Array]:
    """Make several steps: number, places of images and learning rate of each in an array."""

    def one(state: State, its: tuple[Array, Array, Array]) -> tuple[State, Array]:
        number, places, rate = its
        return step(network, state, train, places, rate, jax.random.fold_in(key, number))

    if len(numbers) > 1:
        return jax.lax.scan(one, state, (numbers, places, rates))
    # A loop of one step would be a loop all the same, where XLA's convolutions are slow on a CPU.
    state, loss = one(state, (numbers[0], places[0], rates[0]))
    return state, loss[None]


def _require_equal_parts(settings: Settings, devices: int) -> None:
    for name in "batch_size_training", "batch_size_validation":
        if (batch := getattr(settings, name)) % devices:
            raise ValueError(
                f"{name} is {batch}, which {devices} devices can't share: choose a multiple of "
                f"{devices}"
            )


class NaiveFlaxTrainer:
    """Trains the same network as a first version does: correct, and slow.

    It sends each batch from the host, normalised there in float32, walks the model in Python for
    each step (`flax.nnx.jit`), convolves as Flax does by default, and waits for each loss.

    Parameters
    ----------
    settings, train
        As of `FlaxTrainer`.
    """

    def __init__(self, settings: Settings, train: Split) -> None:
        self.settings = settings
        self._mean, self._deviation = mean_and_deviation(train.images)
        self._images, self._labels = self._normalised(train.images), train.labels.astype(np.int32)
        self._model = CNN(nnx.Rngs(settings.seed))
        steps_of_epoch = len(shuffled(len(train.labels), 1, settings))
        descent = optax.sgd(lambda step: settings.rate(1, step, steps_of_epoch), settings.momentum)
        self._optimizer = nnx.Optimizer(self._model, descent, wrt=nnx.Param)

    def train_epoch(self, order: Order, epoch: int, done: Done = nobody) -> Array:
        """Make a step for each row of ``order``, and return their mean loss."""
        rngs = nnx.Rngs(jax.random.fold_in(jax.random.key(self.settings.seed), epoch))
        losses = []
        for places in order:
            key = rngs() if self.settings.dropout else None
            loss = naive_step(
                self._model, self._optimizer, self._images[places], self._labels[places], key
            )
            losses.append(float(loss))
            done(1)
        return jnp.asarray(np.mean(losses))

    def logits(self, images: Bytes) -> Logits:
        """Judge images of shape (n, 28, 28); the result has the shape (n, 10)."""
        batch = self.settings.batch_size_validation
        parts = [images[start : start + batch] for start in range(0, len(images), batch)]
        found = [_naive_logits(self._model, jnp.asarray(self._normalised(part))) for part in parts]
        return np.concatenate([np.asarray(logits) for logits in found])

    def state(self) -> Arrays:
        """Weights and momentum."""
        both = nnx.state((self._model, self._optimizer))
        return [np.asarray(leaf) for leaf in jax.tree.leaves(both)]

    def restore(self, state: Arrays) -> None:
        """Take over what `state` returned."""
        tree = jax.tree.structure(nnx.state((self._model, self._optimizer)))
        nnx.update((self._model, self._optimizer), jax.tree.unflatten(tree, state))

    def _normalised(self, images: Bytes) -> npt.NDArray[np.float32]:
        pixels = images[..., None].astype(np.float32) / np.float32(255)
        return (pixels - np.float32(self._mean)) / np.float32(self._deviation)


@nnx.jit
def naive_step(
    model: CNN, optimizer: nnx.Optimizer[CNN], images: Array, labels: Array, key: Array | None
) -> Array:
    """Change model and optimiser by a step, and return the loss."""

    def loss(model: CNN) -> Array:
        logits = model(images, key)
        return mean_loss(logits, labels)

    value: Array
    value, gradient = nnx.value_and_grad(loss)(model)
    optimizer.update(model, gradient)
    return value


@nnx.jit
def _naive_logits(model: CNN, images: Array) -> Array:
    return model(images)
