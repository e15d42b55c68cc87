"""Train the PyTorch network: as its examples do, and as fast as the device allows."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset
from typing_extensions import override

from jaxcap.mnist.checkpoints import Arrays
from jaxcap.mnist.config import Settings
from jaxcap.mnist.data import Bytes, Split
from jaxcap.mnist.model_torch import CNN, from_flax
from jaxcap.mnist.training import Logits, OnStep, Order, Trainer, Weights, ignore


class TorchTrainer(Trainer):
    """Trains `jaxcap.mnist.model_torch.CNN`.

    Parameters
    ----------
    settings, train
        See `~jaxcap.mnist.training.Trainer`.
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
        super().__init__(settings, train)
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
        self._train = train
        self._images = torch.tensor(train.images, device=self._device)
        self._labels = torch.tensor(train.labels, device=self._device)
        self._loss = torch.compile(self._mean_loss) if loop == "compiled" else self._mean_loss

    @override
    def train_epoch(self, order: Order, epoch: int, on_step: OnStep = ignore) -> Tensor:
        self._model.train(self.settings.dropout)  # the mode affects dropout only
        make_batches = self._loader_batches if self._loop == "loader" else self._device_batches
        total = torch.zeros((), device=self._device)
        with torch.random.fork_rng():
            torch.manual_seed(self.settings.seed * 2**20 + epoch)
            for step, (images, labels) in enumerate(make_batches(order)):
                (group,) = self._optimizer.param_groups
                group["lr"] = self.settings.rate(epoch, step, len(order))
                self._optimizer.zero_grad()
                loss = self._loss(images, labels)
                loss.backward()  # type: ignore[no-untyped-call]
                self._optimizer.step()
                total += loss.detach()
                on_step(1)
        return total / len(order)

    @override
    @torch.no_grad()
    def _batch_logits(self, images: Bytes) -> Logits:
        self._model.eval()
        normalised = self._normalised(torch.tensor(images, device=self._device))
        with self._autocast():
            logits: Tensor = self._model(normalised)
        return logits.float().cpu().numpy()

    @override
    def state(self) -> Arrays:
        tensors = list(self._model.parameters())
        if self.settings.momentum:  # PyTorch keeps no buffers for a momentum of zero
            states = self._optimizer.state  # has nothing before the first step
            tensors += [states[p].get("momentum_buffer", torch.zeros_like(p)) for p in tensors]
        return [tensor.detach().cpu().numpy() for tensor in tensors]

    @override
    def restore(self, state: Arrays) -> None:
        parameters = list(self._model.parameters())
        tensors = [torch.from_numpy(array).to(self._device) for array in state]
        values, buffers = tensors[: len(parameters)], tensors[len(parameters) :]
        with torch.no_grad():
            for parameter, value in zip(parameters, values, strict=True):
                parameter.copy_(value)
        for parameter, buffer in zip(parameters, buffers, strict=False):
            self._optimizer.state[parameter]["momentum_buffer"] = buffer

    def _loader_batches(self, order: Order) -> Iterator[tuple[Tensor, Tensor]]:
        digits = _Digits(self._train, self._mean, self._std)
        # Its own generator: the loader would otherwise draw from the one that dropout uses.
        loader = DataLoader(
            digits, order.shape[1], sampler=order.ravel().tolist(), generator=torch.Generator()
        )
        for images, labels in loader:
            yield images.to(self._device), labels.to(self._device)

    def _device_batches(self, order: Order) -> Iterator[tuple[Tensor, Tensor]]:
        for indices in torch.from_numpy(order).to(self._device):
            yield self._normalised(self._images[indices]), self._labels[indices].long()

    def _normalised(self, images: Tensor) -> Tensor:
        return (images[:, None] / 255.0 - self._mean) / self._std

    def _mean_loss(self, images: Tensor, labels: Tensor) -> Tensor:
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
