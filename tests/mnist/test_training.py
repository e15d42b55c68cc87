"""Training in all its ways: the same steps, resumed where they stopped."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import jax.numpy as jnp
import numpy as np
import pytest
from fake_digits import bars_to_learn
from libraries import needs_torch

from jaxcap.mnist import data, train_flax
from jaxcap.mnist.checkpoints import CheckpointError, Checkpoints
from jaxcap.mnist.config import Settings
from jaxcap.mnist.data import Mnist, Split
from jaxcap.mnist.train_flax import (
    Convolution,
    FlaxTrainer,
    NaiveFlaxTrainer,
    initial_weights,
    layer_options,
)
from jaxcap.mnist.training import Epoch, Trainer, evaluate, fit, shuffled

if TYPE_CHECKING:
    from jaxcap.mnist.train_torch import TorchTrainer

SETTINGS = Settings(
    num_epochs=2, batch_size_training=8, batch_size_validation=16, learning_rate=0.02
)
Make = Callable[[Settings, Split], Trainer]


def torch_trainer(settings: Settings, train: Split, **options: object) -> TorchTrainer:
    from jaxcap.mnist.train_torch import TorchTrainer

    return TorchTrainer(settings, train, initial_weights(settings.seed), **options)  # type: ignore[arg-type]


MAKERS: dict[str, Make] = {
    "naive": NaiveFlaxTrainer,
    "steps": lambda *given: FlaxTrainer(*given, steps_per_program=1),
    "scan": lambda *given: FlaxTrainer(*given, steps_per_program=12),
    "loader": lambda *given: torch_trainer(*given, loop="loader"),
    "device": lambda *given: torch_trainer(*given, loop="device"),
}
each_way = pytest.mark.parametrize(
    "make",
    [
        pytest.param(make, id=name, marks=needs_torch if name in ("loader", "device") else ())
        for name, make in MAKERS.items()
    ],
)


def trained(make: Make, settings: Settings, mnist: Mnist) -> tuple[Trainer, list[Epoch]]:
    trainer = make(settings, mnist.train)
    return trainer, fit(trainer, mnist)


def assert_equal(one: Trainer, other: Trainer, *, atol: float = 0) -> None:
    for a, b in zip(one.state(), other.state(), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=atol)


@needs_torch
def test_the_state_before_the_first_step_can_be_restored(mnist: Mnist) -> None:
    settings = Settings(momentum=0.9)
    trainer = torch_trainer(settings, mnist.train)
    other = torch_trainer(settings.model_copy(update={"seed": 7}), mnist.train)
    other.restore(trainer.state())
    assert_equal(trainer, other)


@pytest.fixture(scope="module")
def mnist() -> Mnist:
    return bars_to_learn()


@each_way
def test_it_learns(make: Make, mnist: Mnist) -> None:
    settings = SETTINGS.model_copy(update={"num_epochs": 4})
    trainer = make(settings, mnist.train)
    before = evaluate(trainer, mnist.test)
    epochs = fit(trainer, mnist)
    assert before.correct < 15
    assert epochs[-1].test_correct > 30
    assert epochs[-1].test_loss < before.loss / 2


@each_way
def test_the_seed_determines_everything(make: Make, mnist: Mnist) -> None:
    one, epochs = trained(make, SETTINGS, mnist)
    again, epochs_again = trained(make, SETTINGS, mnist)
    assert_equal(one, again)
    assert [epoch[:-1] for epoch in epochs] == [epoch[:-1] for epoch in epochs_again]
    other, _ = trained(make, SETTINGS.model_copy(update={"seed": 1}), mnist)
    assert not np.array_equal(one.state()[1], other.state()[1])


@each_way
def test_all_test_images_are_counted(make: Make, mnist: Mnist) -> None:
    trainer = make(SETTINGS, mnist.train)
    # 37 images in parts of 16: the last part is not full.
    logits = trainer.logits(mnist.test.images)
    assert logits.shape == (37, 10)
    alone = trainer.logits(mnist.test.images[-1:])
    np.testing.assert_allclose(logits[-1:], alone, atol=1e-4)
    assert len(evaluate(trainer, mnist.test).predictions) == 37


# Two programs round in two ways, and each step amplifies that: 1.4e-5 was seen after 24 steps.
@pytest.mark.parametrize(("epochs", "images", "atol"), [(1, 8, 1e-6), (2, None, 5e-5)])
def test_steps_and_scan_are_the_same_training(
    epochs: int, images: int | None, atol: float, mnist: Mnist
) -> None:
    settings = SETTINGS.model_copy(update={"num_epochs": epochs})
    some = replace(mnist, train=Split(*(array[:images] for array in mnist.train)))
    steps, _ = trained(MAKERS["steps"], settings, some)
    scan, _ = trained(MAKERS["scan"], settings, some)
    assert_equal(steps, scan, atol=atol)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_all_ways_to_convolve_learn_the_same(seed: int) -> None:
    # Without dropout, for which the ways draw different numbers, only rounding may set them apart.
    settings = Settings(seed=seed, batch_size_training=32, num_epochs=1, dropout=False)
    digits = data.load("subset")
    some = Split(*(array[:640] for array in digits.train))  # 20 steps
    losses, answers = {}, {}
    for convolution in get_args(Convolution):
        trainer = FlaxTrainer(
            settings, some, steps_per_program=1, layers=layer_options(convolution)
        )
        order = shuffled(len(some.labels), 1, settings)
        losses[convolution] = float(trainer.train_epoch(order, 1))
        answers[convolution] = evaluate(trainer, data.balanced(digits.test, 50)).predictions
    assert losses == pytest.approx(dict.fromkeys(losses, losses["xla"]), rel=1e-3)
    for convolution, predictions in answers.items():
        assert (predictions == answers["xla"]).mean() > 0.98, convolution
    right = answers["xla"] == data.balanced(digits.test, 50).labels
    assert right.mean() > 0.4  # they have learnt, and would show it if they had learnt otherwise


@needs_torch
def test_loader_and_device_are_the_same_training(mnist: Mnist) -> None:
    loader, _ = trained(MAKERS["loader"], SETTINGS, mnist)
    device, _ = trained(MAKERS["device"], SETTINGS, mnist)
    assert_equal(loader, device, atol=1e-5)


@needs_torch
def test_both_frameworks_train_alike_without_dropout(mnist: Mnist) -> None:
    from jaxcap.mnist.model_torch import from_flax

    settings = SETTINGS.model_copy(update={"num_epochs": 1, "dropout": False})
    one_step = Mnist(Split(*(array[:8] for array in mnist.train)), mnist.test, "", complete=False)
    before = initial_weights(settings.seed)
    flax = FlaxTrainer(settings, one_step.train)
    other = torch_trainer(settings, one_step.train)
    (in_flax,), (in_torch,) = fit(flax, one_step), fit(other, one_step)
    assert in_flax.train_loss == pytest.approx(in_torch.train_loss, rel=1e-5)

    starts, ends = (from_flax(weights).values() for weights in (before, flax.weights()))
    for start, a, b in zip(starts, ends, other.state(), strict=False):  # momentum comes last
        assert (a - start).abs().max() > 1e-3  # the step went somewhere
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-4)


class TestOrder:
    def test_each_image_is_seen_once(self) -> None:
        order = shuffled(96, 1, SETTINGS)
        assert order.shape == (12, 8)
        assert sorted(order.ravel()) == list(range(96))

    def test_what_fills_no_step_differs_from_epoch_to_epoch(self) -> None:
        left_out = [set(range(20)) - set(shuffled(20, n, SETTINGS).ravel()) for n in (1, 2)]
        assert [len(those) for those in left_out] == [4, 4]
        assert left_out[0] != left_out[1]

    def test_a_dry_run_is_short(self) -> None:
        settings = SETTINGS.model_copy(update={"dry_run": True})
        assert len(shuffled(1000, 1, settings)) == 5

    def test_too_few_images_are_refused(self) -> None:
        with pytest.raises(ValueError, match="batch_size_training is 8 and there are 7 images"):
            shuffled(7, 1, SETTINGS)


# Threads of Orbax may still be at work when it has refused a file, and in the tests after that.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
class TestCheckpoints:
    @each_way
    def test_a_training_goes_on_where_it_stopped(
        self, make: Make, mnist: Mnist, tmp_path: Path
    ) -> None:
        through, epochs = trained(make, SETTINGS, mnist)
        first_half = make(SETTINGS.model_copy(update={"num_epochs": 1}), mnist.train)
        fit(first_half, mnist, checkpoints=tmp_path)
        resumed = make(SETTINGS, mnist.train)
        log = tmp_path / "log.jsonl"
        resumed_epochs = fit(resumed, mnist, checkpoints=tmp_path, log=log)
        assert_equal(resumed, through, atol=1e-6)
        assert [epoch.epoch for epoch in resumed_epochs] == [1, 2]
        assert resumed_epochs[1].test_correct == epochs[1].test_correct
        assert len(log.read_text(encoding="utf-8").splitlines()) == 2

    def test_a_finished_training_is_left_alone(self, mnist: Mnist, tmp_path: Path) -> None:
        one = MAKERS["steps"](SETTINGS, mnist.train)
        epochs = fit(one, mnist, checkpoints=tmp_path)
        again = MAKERS["steps"](SETTINGS, mnist.train)
        assert fit(again, mnist, checkpoints=tmp_path) == epochs
        assert_equal(one, again)

    @each_way
    def test_without_momentum_it_goes_on_too(
        self, make: Make, mnist: Mnist, tmp_path: Path
    ) -> None:
        settings = SETTINGS.model_copy(update={"momentum": 0.0})
        through, _ = trained(make, settings, mnist)
        fit(
            make(settings.model_copy(update={"num_epochs": 1}), mnist.train),
            mnist,
            checkpoints=tmp_path,
        )
        resumed = make(settings, mnist.train)
        fit(resumed, mnist, checkpoints=tmp_path)
        assert_equal(resumed, through, atol=1e-6)

    def test_callbacks_tell_resumed_epochs_from_new_ones(
        self, mnist: Mnist, tmp_path: Path
    ) -> None:
        earlier: list[Epoch] = []
        later: list[Epoch] = []
        for num_epochs in 1, 2:
            earlier.clear()
            later.clear()
            trainer = MAKERS["steps"](
                SETTINGS.model_copy(update={"num_epochs": num_epochs}), mnist.train
            )
            epochs = fit(
                trainer, mnist, checkpoints=tmp_path, on_start=earlier.extend, on_epoch=later.append
            )
        assert [epoch.epoch for epoch in earlier] == [1]
        assert [epoch.epoch for epoch in later] == [2]
        assert epochs == earlier + later

    @pytest.mark.parametrize("name", ["metadata", "_METADATA", "manifest.ocdbt"])
    def test_a_truncated_checkpoint_is_refused(
        self, mnist: Mnist, tmp_path: Path, name: str
    ) -> None:
        fit(MAKERS["steps"](SETTINGS, mnist.train), mnist, checkpoints=tmp_path)
        for path in tmp_path.rglob(name):
            path.write_bytes(b"")
        with pytest.raises(CheckpointError, match=f"{tmp_path} can't be read") as raised:
            fit(MAKERS["steps"](SETTINGS, mnist.train), mnist, checkpoints=tmp_path)
        assert "\n" not in str(raised.value)

    # Orbax's own threads report to a loop that is closed by then.
    def test_a_folder_of_other_things_is_refused(self, mnist: Mnist, tmp_path: Path) -> None:
        (tmp_path / "5").mkdir()
        with pytest.raises(CheckpointError, match=f"the checkpoint in {tmp_path} can't be read"):
            fit(MAKERS["steps"](SETTINGS, mnist.train), mnist, checkpoints=tmp_path)

    def test_a_folder_that_cannot_be_made_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("", encoding="utf-8")
        with pytest.raises(CheckpointError, match="folder can't be opened"):
            Checkpoints(tmp_path / "file" / "folder")

    def test_a_full_disk_keeps_the_checkpoint_before(
        self, mnist: Mnist, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = SETTINGS.model_copy(update={"num_epochs": 1})
        fit(MAKERS["steps"](first, mnist.train), mnist, checkpoints=tmp_path)

        def full(*_: object, **__: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patch:
            patch.setattr("orbax.checkpoint.CheckpointManager.save", full)
            with pytest.raises(CheckpointError, match=r"can't be written .*No space left"):
                fit(MAKERS["steps"](SETTINGS, mnist.train), mnist, checkpoints=tmp_path)
        assert len(fit(MAKERS["steps"](SETTINGS, mnist.train), mnist, checkpoints=tmp_path)) == 2

    @needs_torch
    def test_that_of_another_training_is_refused(self, mnist: Mnist, tmp_path: Path) -> None:
        fit(MAKERS["steps"](SETTINGS, mnist.train), mnist, checkpoints=tmp_path)
        others: list[tuple[str, str, Settings]] = [
            ("device", "trainer FlaxTrainer", SETTINGS),
            ("steps", "seed 0, .* 5", SETTINGS.model_copy(update={"seed": 5})),
        ]
        for way, said, settings in others:
            with pytest.raises(CheckpointError, match=said):
                fit(MAKERS[way](settings, mnist.train), mnist, checkpoints=tmp_path)


def test_log_has_a_row_for_each_epoch(mnist: Mnist, tmp_path: Path) -> None:
    log = tmp_path / "deep" / "log.jsonl"
    epochs = fit(MAKERS["steps"](SETTINGS, mnist.train), mnist, log=log)
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [Epoch(**row) for row in rows] == epochs
    assert epochs[0].accuracy == epochs[0].test_correct / 37
    assert epochs[0].train_s < epochs[1].train_s


def test_a_log_that_cannot_be_written_is_named_after_the_epoch_was_reported(
    mnist: Mnist, tmp_path: Path
) -> None:
    log = tmp_path / "file" / "log.jsonl"
    log.parent.write_text("not a folder", encoding="utf-8")
    epochs: list[Epoch] = []
    with pytest.raises(OSError, match=str(log)):
        fit(MAKERS["steps"](SETTINGS, mnist.train), mnist, log=log, on_epoch=epochs.append)
    assert len(epochs) == 1


def test_reduced_precision_trains_too(mnist: Mnist) -> None:
    settings = SETTINGS.model_copy(update={"num_epochs": 4})
    flax = FlaxTrainer(settings, mnist.train, dtype=jnp.bfloat16)
    assert fit(flax, mnist)[-1].test_correct > 30
    assert {array.dtype for array in flax.state()} == {np.dtype("float32")}


@needs_torch
def test_reduced_precision_trains_in_pytorch_too(mnist: Mnist) -> None:
    import torch

    settings = SETTINGS.model_copy(update={"num_epochs": 4})
    in_torch = torch_trainer(settings, mnist.train, dtype=torch.bfloat16)
    assert fit(in_torch, mnist)[-1].test_correct > 30


@needs_torch
def test_compiling_without_a_compiler_is_refused(
    mnist: Mnist, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jaxcap.mnist.train_torch.can_compile", lambda _: False)
    with pytest.raises(RuntimeError, match=r"needs a C\+\+ compiler"):
        torch_trainer(SETTINGS, mnist.train, loop="compiled")


def cache_size(compiled: Any) -> int:
    size: int = compiled._cache_size()
    return size


def test_seeds_share_a_compiled_step(mnist: Mnist) -> None:
    for seed in 1, 2:
        trained(MAKERS["steps"], SETTINGS.model_copy(update={"seed": seed}), mnist)
    sizes = cache_size(train_flax.steps)
    trained(MAKERS["steps"], SETTINGS.model_copy(update={"seed": 3}), mnist)
    assert cache_size(train_flax.steps) == sizes


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("framework", ["Flax", pytest.param("PyTorch", marks=needs_torch)])
def test_all_of_mnist_fits_two_gibibytes(framework: str) -> None:
    program = f"""
from pathlib import Path
import numpy as np
from jaxcap.mnist.config import Settings
from jaxcap.mnist.data import Mnist, Split
from jaxcap.mnist.training import fit

settings = Settings(num_epochs=1, dry_run=True)
train, test = (
    Split(np.zeros((n, 28, 28), np.uint8), np.zeros(n, np.uint8)) for n in (60_000, 1_000)
)
if {framework!r} == "Flax":
    from jaxcap.mnist.train_flax import FlaxTrainer
    trainer = FlaxTrainer(settings, train)
else:
    from jaxcap.mnist.train_flax import initial_weights
    from jaxcap.mnist.train_torch import TorchTrainer
    trainer = TorchTrainer(settings, train, initial_weights(0))
fit(trainer, Mnist(train, test, "nothing", complete=False))
# Not resource.getrusage, whose peak is that of the process that started this one.
status = Path("/proc/self/status").read_text().splitlines()
print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 2 * 2**20  # kibibytes
