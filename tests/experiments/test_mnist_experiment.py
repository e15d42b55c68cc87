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
from jaxcap.experiments.mnist import DEVICE, LOADER, NAIVE, prepare, throughput


def test_all_trainers_have_the_same_loss_but_for_dropout() -> None:
    losses = {name: float(train()) for name, train in prepare(128, 1, compiled=False).items()}
    in_torch = {name: loss for name, loss in losses.items() if name.startswith("PyTorch")}
    assert in_torch.keys() == {LOADER, DEVICE}
    assert NAIVE in losses
    # The same images and weights: what differs is which activations are dropped. In as many images,
    # that changes the loss by some 0.06.
    assert max(losses.values()) - min(losses.values()) < 0.3
    assert len(set(in_torch.values())) == 1


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
