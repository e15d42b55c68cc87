"""Each way to train MNIST does the same steps."""

from __future__ import annotations

import json
import subprocess
import sys

import jax
import pytest
from fakes import make_result, make_run, make_set

pytest.importorskip("torch", reason="needs PyTorch")

from jaxcap.experiments import mnist as experiment
from jaxcap.experiments.mnist import DEVICE, LOADER, prepare, throughput
from jaxcap.experiments.mnist_changes import CHANGES, FACTORIES, NAIVE, SCAN
from jaxcap.mnist import data
from jaxcap.mnist.config import Settings
from jaxcap.mnist.training import shuffled


def test_all_trainers_have_the_same_loss_but_for_dropout() -> None:
    losses = {
        name: float(train())
        for name, train in prepare(128, 1, compiled=False, changes=False).items()
    }
    in_torch = {name: loss for name, loss in losses.items() if name.startswith("PyTorch")}
    assert in_torch.keys() == {LOADER, DEVICE}
    assert NAIVE in losses
    # The same images and weights: what differs is which activations are dropped. In as many images,
    # that changes the loss by some 0.06.
    assert max(losses.values()) - min(losses.values()) < 0.3
    assert len(set(in_torch.values())) == 1


def test_each_change_leads_to_another_way_and_from_the_naive_loop() -> None:
    assert CHANGES.keys() | {NAIVE} == FACTORIES.keys() == {NAIVE, *CHANGES}
    for way in CHANGES:
        path = [way]
        while path[-1] != NAIVE:
            path.append(CHANGES[path[-1]].before)
        assert len(path) == len(set(path))


def test_no_change_changes_what_is_learned() -> None:
    # Without dropout, for which some ways draw other numbers.
    settings = Settings(batch_size_training=16, dropout=False)
    train = data.load("subset").train
    order = shuffled(len(train.labels), 1, settings)[:2]
    losses = {
        name: float(make_trainer(settings, train).train_epoch(order, 1))
        for name, make_trainer in FACTORIES.items()
    }
    assert losses == pytest.approx(dict.fromkeys(losses, losses[NAIVE]), rel=1e-4)


def test_changes_take_part_if_asked_for() -> None:
    assert FACTORIES.keys() - experiment.trainer_factories(compiled=False) == {SCAN}
    main = experiment.trainer_factories(compiled=False, changes=False)
    assert main.keys() == {*experiment.MAIN, LOADER, DEVICE} - {SCAN}


def test_compiled_pytorch_takes_part_where_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment, "can_compile", lambda _: True)
    assert experiment.COMPILED in experiment.trainer_factories()
    assert experiment.COMPILED not in experiment.trainer_factories(compiled=False)
    monkeypatch.setattr(experiment, "can_compile", lambda _: False)
    assert experiment.COMPILED not in experiment.trainer_factories()


def test_reduced_precision_is_for_accelerators(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not any(experiment.REDUCED in name for name in experiment.trainer_factories())
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert sum(experiment.REDUCED in name for name in experiment.trainer_factories()) == 2


def test_throughput_counts_images() -> None:
    run = make_run([0.5] * 6)
    result = make_result("way", run, parameters={"batch": 128, "steps": 2})
    rate = throughput(make_set(result).results[0])
    assert (rate.value, rate.unit) == (512, "images/s")


def test_scaling_shares_the_same_steps_among_devices() -> None:
    program = """
import json
from jaxcap.experiments.scaling import prepare
variants = prepare(batch=128, steps=1)
losses = {name: float(variants[name]()) for name in ("1 device", "8 devices")}
print(json.dumps([list(variants), losses]))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    names, losses = json.loads(done.stdout)
    assert names == ["1 device", "8 devices"]
    assert losses["8 devices"] == pytest.approx(losses["1 device"], rel=1e-5)
