"""Train the PyTorch network: as its examples do, and as fast as the device allows."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from jaxcap.mnist.checkpoints import Arrays
from jaxcap.mnist.config import Settings
from jaxcap.mnist.data import Bytes, Split, mean_and_std
from jaxcap.mnist.model_torch import CNN, from_flax, to_flax
from jaxcap.mnist.training import Logits, OnStep, Order, Weights, ignore


class TorchTrainer:
    """Trains `jaxcap.mnist.model_torch.CNN`.

    Parameters
    ----------
    settings
        How to train.
    train
        Images to train on.
    weights
        Initial kernel and bias of each layer, in Flax's layout.
    loop
        ``"loader"`` has a `torch.utils.data.DataLoader` normalise one image after another in each
        epoch; ``"device"`` keeps all images on the device and normalises a batch there;
        ``"compiled"`` also compiles the step with `torch.compile`.
    dtype
        Number type that the layers compute in, by `torch.autocast`. The weights are float32 in any
        case.
    device
        PyTorch's name of the device; by default a GPU if there is one.

    Raises
    ------
    RuntimeError
        If the step is to be compiled and there is no compiler: see `can_compile`.
    """

    def __init__(
        self,
        settings: Settings,
        train: Split,
        weights: Weights,
        *,
        loop: Literal["loader", "device", "compiled"] = "device",
        dtype: torch.dtype = torch.float32,
        device: str | None = None,
    ) -> None:
        self.settings = settings
        self._loop, self._dtype = loop, dtype
        self._device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        if loop == "compiled" and not can_compile(self._device.type):
            raise RuntimeError("torch.compile needs a C++ compiler (g++) on a CPU: install one")
        self._model = CNN()
        self._model.load_state_dict(from_flax(weights))
        self._model.to(self._device)
        self._optimizer = torch.optim.SGD(
            self._model.parameters(), settings.learning_rate, settings.momentum
        )
        self._mean, self._std = mean_and_std(train.images)
        self._train = train
        self._images = torch.tensor(train.images, device=self._device)
        self._labels = torch.tensor(train.labels, device=self._device)
        self._loss = torch.compile(self._loss_of) if loop == "compiled" else self._loss_of

    def train_epoch(self, order: Order, epoch: int, on_step: OnStep = ignore) -> Tensor:
        """Make a step for each row of ``order``, and return their mean loss."""
        self._model.train(self.settings.dropout)  # the mode affects dropout only
        batches = self._loaded(order) if self._loop == "loader" else self._on_device(order)
        total = torch.zeros((), device=self._device)
        with torch.random.fork_rng():
            torch.manual_seed(self.settings.seed * 2**20 + epoch)
            for step, (images, labels) in enumerate(batches):
                (group,) = self._optimizer.param_groups
                group["lr"] = self.settings.rate(epoch, step, len(order))
                self._optimizer.zero_grad()
                loss = self._loss(images, labels)
                loss.backward()  # type: ignore[no-untyped-call]
                self._optimizer.step()
                total += loss.detach()
                on_step(1)
        return total / len(order)

    @torch.no_grad()
    def logits(self, images: Bytes) -> Logits:
        """Return logits of shape (n, 10) for images of shape (n, 28, 28)."""
        self._model.eval()
        parts = torch.split(torch.tensor(images), self.settings.batch_size_validation)
        with self._autocast():
            logits = [self._model(self._normalised(part.to(self._device))) for part in parts]
        return torch.cat(logits).float().cpu().numpy()

    def weights(self) -> Weights:
        """Return kernel and bias of each layer, in Flax's layout."""
        return to_flax(self._model.state_dict())

    def state(self) -> Arrays:
        """Return weights, and momentum if there is any."""
        parameters = list(self._model.parameters())
        tensors = [*parameters]
        if self.settings.momentum:  # PyTorch keeps no buffers for a momentum of zero
            tensors += [self._optimizer.state[p]["momentum_buffer"] for p in parameters]
        return [tensor.detach().cpu().numpy() for tensor in tensors]

    def restore(self, state: Arrays) -> None:
        """Continue from what `state` returned."""
        parameters = list(self._model.parameters())
        tensors = [torch.from_numpy(array).to(self._device) for array in state]
        values, buffers = tensors[: len(parameters)], tensors[len(parameters) :]
        with torch.no_grad():
            for parameter, value in zip(parameters, values, strict=True):
                parameter.copy_(value)
        for parameter, buffer in zip(parameters, buffers, strict=False):
            self._optimizer.state[parameter]["momentum_buffer"] = buffer

    def _loaded(self, order: Order) -> Iterator[tuple[Tensor, Tensor]]:
        digits = _Digits(self._train, self._mean, self._std)
        # Its own generator: the loader would otherwise draw from the one that dropout uses.
        loader = DataLoader(
            digits, order.shape[1], sampler=order.ravel().tolist(), generator=torch.Generator()
        )
        for images, labels in loader:
            yield images.to(self._device), labels.to(self._device)

    def _on_device(self, order: Order) -> Iterator[tuple[Tensor, Tensor]]:
        for indices in torch.from_numpy(order).to(self._device):
            yield self._normalised(self._images[indices]), self._labels[indices].long()

    def _normalised(self, images: Tensor) -> Tensor:
        return (images[:, None] / 255.0 - self._mean) / self._std

    def _loss_of(self, images: Tensor, labels: Tensor) -> Tensor:
        with self._autocast():
            return functional.cross_entropy(self._model(images), labels)

    def _autocast(self) -> torch.autocast:
        reduced = self._dtype != torch.float32
        return torch.autocast(self._device.type, self._dtype, enabled=reduced)


class _Digits(Dataset[tuple[Tensor, int]]):
    """Images that are normalised one by one as they are loaded, as in most examples."""

    def __init__(self, split: Split, mean: float, std: float) -> None:
        self._split, self._mean, self._std = split, mean, std

    def __len__(self) -> int:
        return len(self._split.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        image = torch.tensor(self._split.images[index], dtype=torch.float32)[None].div_(255)
        return image.sub_(self._mean).div_(self._std), int(self._split.labels[index])


def can_compile(platform: str) -> bool:
    """Whether `torch.compile` finds the compiler that it needs for ``"cpu"`` or ``"cuda"``."""
    return platform != "cpu" or shutil.which("g++") is not None
