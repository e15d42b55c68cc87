"""Train the Flax network: in the simplest way, and as fast as the device allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Literal, NamedTuple, SupportsFloat

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax
from flax import nnx
from jax import Array
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from typing_extensions import override

from jaxcap.kernels.convolution import by_patches, convolve, in_parts, max_pool
from jaxcap.mnist.checkpoints import Arrays
from jaxcap.mnist.config import Settings
from jaxcap.mnist.data import Bytes, Split
from jaxcap.mnist.model import CNN, Dropout
from jaxcap.mnist.training import Logits, OnStep, Order, Trainer, Weights, ignore, shuffled

Convolution = Literal["xla", "patches", "winograd"]

_STEPS_PER_PROGRAM_ON_CPU = 32


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Network:
    """The part of a training that stays the same.

    Attributes
    ----------
    graph
        The model without its weights.
    dropout
        Whether training drops activations.
    copies
        Sharding that puts a copy of an array on each device.
    momentum
        Momentum of the gradient descent.
    mean, std
        Mean and standard deviation of the training images' pixels.
    """

    # The program depends on these: another value compiles it anew.
    graph: nnx.GraphDef[CNN] = field(metadata={"static": True})
    dropout: bool = field(metadata={"static": True})
    copies: NamedSharding = field(metadata={"static": True})
    # The program takes these as arguments.
    momentum: float
    mean: float
    std: float

    def optimizer(self, rate: float | Array) -> optax.GradientTransformation:
        """Return the optimiser, which turns gradients into steps."""
        return optax.sgd(rate, self.momentum)

    def logits(self, params: Any, images: Array, key: Array | None = None) -> Array:
        """Return logits of shape (n, 10) for images of bytes, of shape (n, 28, 28)."""
        normalised = (images[..., None] / 255.0 - self.mean) / self.std
        return nnx.merge(self.graph, params)(normalised, key)


class State(NamedTuple):
    """The part of a training that changes: the weights and the optimiser's momentum."""

    params: Any
    optimizer: optax.OptState


class FlaxTrainer(Trainer):
    """Trains `jaxcap.mnist.model.CNN` on images that stay on the device.

    Parameters
    ----------
    settings, train
        See `~jaxcap.mnist.training.Trainer`. The seed also determines the initial weights.
    steps_per_program
        Number of steps that are compiled to one program: 1 to start each step from Python. By default
        all steps of an epoch, but on a CPU so few that a progress bar can move.
    layers
        Arguments of the network that decide how it computes. By default ``layer_options`` for Winograd's
        algorithm on a CPU, where XLA's convolutions are slow, and slower still in a scan, and for
        XLA's own convolutions elsewhere.
    donate
        Let the new state take the memory of the old one.
    dtype
        Number type that the layers compute in. The weights are float32 in any case.
    mesh
        Devices that share each batch, along an axis ``"data"``; by default the first device alone.
        Each holds a copy of the weights, and XLA adds up the gradients, so the loss is the same as
        on one device.

    Raises
    ------
    ValueError
        If a batch can't be split evenly among the devices.
    """

    def __init__(
        self,
        settings: Settings,
        train: Split,
        *,
        steps_per_program: int | None = None,
        layers: Mapping[str, Any] | None = None,
        donate: bool = True,
        dtype: Any = jnp.float32,
        mesh: Mesh | None = None,
    ) -> None:
        super().__init__(settings, train)
        self._mesh = mesh or data_mesh(jax.devices()[:1])
        _require_equal_parts(settings, self._mesh.size)
        on_cpu = self._mesh.devices.flat[0].platform == "cpu"
        if steps_per_program is None and on_cpu:
            steps_per_program = _STEPS_PER_PROGRAM_ON_CPU
        self._steps_per_program = steps_per_program
        if layers is None:
            layers = layer_options("winograd" if on_cpu else "xla", self._mesh.size)
        self._steps = steps if donate else _steps_without_donation
        graph, params = nnx.split(CNN(nnx.Rngs(settings.seed), dtype=dtype, **layers))
        self._network = Network(
            graph,
            settings.dropout,
            sharding(self._mesh),
            settings.momentum,
            self._mean,
            self._std,
        )
        state = State(params, self._network.optimizer(settings.learning_rate).init(params))
        self._state, self._train = put((state, train), self._network.copies)

    @override
    def train_epoch(self, order: Order, epoch: int, on_step: OnStep = ignore) -> Array:
        key = jax.random.fold_in(jax.random.key(self.settings.seed), epoch)
        size = self._steps_per_program or len(order)
        losses = []
        for start in range(0, len(order), size):
            numbers = np.arange(start, min(start + size, len(order)))
            rates = self.settings.rate(epoch, numbers, len(order)).astype(np.float32)
            indices = put(order[numbers], sharding(self._mesh, None, "data"))
            self._state, step_losses = self._steps(
                self._network, self._state, self._train, numbers, indices, rates, key
            )
            losses.append(step_losses)
            on_step(len(numbers))
        return jnp.concatenate(losses).mean()

    @override
    def _batch_logits(self, images: Bytes) -> Logits:
        # Always the same shape, so that there is only one program.
        padding = self.settings.batch_size_validation - len(images)
        padded = put(np.pad(images, [(0, padding), (0, 0), (0, 0)]), sharding(self._mesh, "data"))
        logits = compiled_logits(self._network, self._state.params, padded)
        return np.asarray(logits)[: len(images)]

    def weights(self) -> Weights:
        """Return kernel and bias of each layer, as NumPy arrays."""
        return _as_numpy(self._state.params)

    @override
    def state(self) -> Arrays:
        return [np.asarray(leaf) for leaf in jax.tree.leaves(self._state)]

    @override
    def restore(self, state: Arrays) -> None:
        tree = jax.tree.structure(self._state)
        self._state = put(jax.tree.unflatten(tree, state), self._network.copies)


@cache  # networks are equal, and share a compiled program, only if their functions are identical
def layer_options(convolution: Convolution, devices: int = 1) -> Any:
    """Return arguments of the network that decide how it computes.

    Parameters
    ----------
    convolution
        ``"xla"`` convolves and pools by XLA's own operations; ``"patches"`` by a product with all
        patches; ``"winograd"`` with half as many multiplications, on a few images at a time, and
        with fewer random numbers for dropout.
    devices
        Number of devices that share each batch.
    """
    ways: dict[Convolution, Any] = {
        "xla": {},
        "patches": {"convolve": by_patches, "pool": max_pool},
        "winograd": {
            "convolve": convolve,
            "pool": max_pool,
            "apply": partial(in_parts, devices=devices),
            "dropout": Dropout,
        },
    }
    return ways[convolution]


def data_mesh(devices: Sequence[jax.Device] | None = None) -> Mesh:
    """Return a mesh of devices, by default all, that share each batch along an axis ``"data"``."""
    devices = jax.devices() if devices is None else devices
    return jax.make_mesh((len(devices),), ("data",), (AxisType.Auto,), devices=devices)


def initial_weights(seed: int) -> Weights:
    """Return the weights that a training begins with: kernel and bias of each layer."""
    return _as_numpy(nnx.state(CNN(nnx.Rngs(seed))))


def _as_numpy(params: Any) -> Weights:
    weights: Weights = jax.tree.map(np.asarray, nnx.to_pure_dict(params))
    return weights


def sharding(mesh: Mesh, *axes: str | None) -> NamedSharding:
    """Return a sharding that splits arrays along the axis named ``"data"``, or copies them."""
    return NamedSharding(mesh, P(*axes))  # type: ignore[no-untyped-call]


def put(tree: Any, sharding: NamedSharding) -> Any:
    """Put arrays, which each process has in full, on the devices of all processes."""

    def put_leaf(leaf: Any) -> Array:
        array = np.asarray(leaf)
        return jax.make_array_from_callback(array.shape, sharding, array.__getitem__)

    return jax.tree.map(put_leaf, tree)


@jax.jit
def compiled_logits(network: Network, params: Any, images: Array) -> Array:
    """Return the logits of images, with a copy on each device."""
    logits: Array = jax.lax.with_sharding_constraint(  # type: ignore[no-untyped-call]
        network.logits(params, images), network.copies
    )
    return logits


def mean_loss(logits: Array, labels: Array) -> Array:
    """Mean cross entropy of logits of shape (n, 10) and labels of shape (n,), in nats."""
    losses: Array = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    return losses.mean()


def step(
    network: Network, state: State, train: Split, indices: Array, rate: Array, key: Array
) -> tuple[State, Array]:
    """Step against the gradient of a batch's loss; return the new state and the loss."""

    def loss(params: Any) -> Array:
        logits = network.logits(params, train.images[indices], key if network.dropout else None)
        labels = train.labels[indices].astype(jnp.int32)
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
    indices: Array,
    rates: Array,
    key: Array,
) -> tuple[State, Array]:
    """Make several steps, each with its number, indices of images and learning rate."""

    def numbered_step(state: State, inputs: tuple[Array, Array, Array]) -> tuple[State, Array]:
        number, indices, rate = inputs
        return step(network, state, train, indices, rate, jax.random.fold_in(key, number))

    if len(numbers) > 1:
        return jax.lax.scan(numbered_step, state, (numbers, indices, rates))
    # Even for one step, a scan would slow down XLA's convolutions on a CPU: their gradients would be
    # compiled as in a loop.
    state, loss = numbered_step(state, (numbers[0], indices[0], rates[0]))
    return state, loss[None]


_steps_without_donation = jax.jit(steps.__wrapped__)  # type: ignore[attr-defined]


def _require_equal_parts(settings: Settings, devices: int) -> None:
    for name in "batch_size_training", "batch_size_validation":
        if (batch := getattr(settings, name)) % devices:
            raise ValueError(
                f"{name} is {batch}, which {devices} devices can't share: choose a multiple of "
                f"{devices}"
            )


class NaiveFlaxTrainer(Trainer):
    """Trains the same network in the simplest way, which is correct and slow.

    It normalises all images on the host in float32, sends each batch to the device, walks the model in
    Python for each step (`flax.nnx.jit`), convolves as Flax does by default, and waits for each loss.

    Parameters
    ----------
    settings, train
        See `~jaxcap.mnist.training.Trainer`. The seed also determines the initial weights.
    """

    def __init__(self, settings: Settings, train: Split) -> None:
        super().__init__(settings, train)
        self._images, self._labels = self._normalised(train.images), train.labels.astype(np.int32)
        self._model = CNN(nnx.Rngs(settings.seed))
        steps_of_epoch = len(shuffled(len(train.labels), 1, settings))
        descent = optax.sgd(lambda step: settings.rate(1, step, steps_of_epoch), settings.momentum)
        self._optimizer = nnx.Optimizer(self._model, descent, wrt=nnx.Param)

    @override
    def train_epoch(self, order: Order, epoch: int, on_step: OnStep = ignore) -> Array:
        rngs = nnx.Rngs(jax.random.fold_in(jax.random.key(self.settings.seed), epoch))
        losses = []
        for indices in order:
            losses.append(self._step(indices, rngs() if self.settings.dropout else None))
            on_step(1)
        return jnp.asarray(np.mean([float(loss) for loss in losses]))

    def _step(self, indices: Order, key: Array | None) -> SupportsFloat:
        """Make a step with a batch, and return its loss."""
        images, labels = self._images[indices], self._labels[indices]
        return float(naive_step(self._model, self._optimizer, images, labels, key))

    @override
    def _batch_logits(self, images: Bytes) -> Logits:
        return np.asarray(_naive_logits(self._model, jnp.asarray(self._normalised(images))))

    @override
    def state(self) -> Arrays:
        both = nnx.state((self._model, self._optimizer))
        return [np.asarray(leaf) for leaf in jax.tree.leaves(both)]

    @override
    def restore(self, state: Arrays) -> None:
        tree = jax.tree.structure(nnx.state((self._model, self._optimizer)))
        nnx.update((self._model, self._optimizer), jax.tree.unflatten(tree, state))

    def _normalised(self, images: Bytes) -> npt.NDArray[np.float32]:
        pixels = images[..., None].astype(np.float32) / np.float32(255)
        return (pixels - np.float32(self._mean)) / np.float32(self._std)


@nnx.jit
def naive_step(
    model: CNN, optimizer: nnx.Optimizer[CNN], images: Any, labels: Any, key: Array | None
) -> Array:
    """Update model and optimiser by a step, and return the loss."""

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
