"""Messages are found in compiled programs, and have the sizes that arithmetic says."""

from __future__ import annotations

import pytest

from jaxcap.kernels.sharded_step import BATCH, BY_HAND, UNITS, WEIGHTS
from jaxcap.report.messages import Message, Step, compiled_steps, messages_of

PROGRAM = """
  %param = f32[64,256]{1,0} parameter(0), sharding={devices=[8,1]<=[8]}
  %gather = f32[64,256]{1,0} all-gather(%copy), channel_id=1, dimensions={0}
  %all-reduce = (f32[256,64]{1,0}, f32[64,256]{1,0}) all-reduce(%a, %b), to_apply=%add
  %part = f32[256,64]{1,0} get-tuple-element(%all-reduce), index=0
  %scatter = f32[32,64]{1,0} reduce-scatter(%dot), dimensions={0}, to_apply=%add
  ROOT %mean = f32[] all-reduce(%square), to_apply=%add
"""


def test_messages_carry_whole_arrays() -> None:
    array = 4 * 64 * 256
    assert messages_of(PROGRAM, devices=8) == [
        Message("all-gather", array, "f32[64,256]{1,0} all-gather(%copy)"),
        Message(
            "all-reduce",
            2 * array,
            "(f32[256,64]{1,0}, f32[64,256]{1,0}) all-reduce(%a, %b)",
        ),
        Message("reduce-scatter", array, "f32[32,64]{1,0} reduce-scatter(%dot)"),
        Message("all-reduce", 4, "f32[] all-reduce(%square)"),
    ]


@pytest.mark.parametrize(
    ("operation", "sent"), [("all-reduce", 150), ("all-gather", 75), ("reduce-scatter", 75)]
)
def test_each_device_keeps_its_own_part(operation: str, sent: float) -> None:
    assert Message(operation, 100, "").sent_bytes(devices=4) == sent


def test_a_step_counts_its_messages_of_each_kind() -> None:
    gather, reduce = Message("all-gather", 4000, ""), Message("all-reduce", 8000, "")
    messages = gather, gather, reduce
    step = Step("a way", 16, 8, devices=4, held_bytes=3000, messages=messages, off=0.0)
    assert step.words == "2 all-gathers and 1 all-reduce"
    assert step.sent_bytes == 18000


def test_compiled_steps_send_and_hold_what_arithmetic_says() -> None:
    batch, width, devices = 16, 8, 4
    steps = {step.way: step for step in compiled_steps((batch,), width, devices=devices)}
    weights = 4 * (width * 4 * width + 4 * width * width)
    examples = 4 * batch * width  # as large as the targets and as the predictions
    both_ways = 2 * (devices - 1) / devices
    (of_weights,), (of_examples,) = steps[BATCH].messages, steps[UNITS].messages
    assert of_weights[:2] == ("all-reduce", weights)
    assert of_examples[:2] == ("all-reduce", examples)
    assert of_examples.code.startswith(f"f32[{batch},{width}]")
    assert steps[BATCH].sent_bytes == both_ways * weights
    assert steps[UNITS].sent_bytes == both_ways * examples
    assert steps[BY_HAND].sent_bytes == steps[BATCH].sent_bytes
    assert steps[WEIGHTS].sent_bytes >= steps[BY_HAND].sent_bytes  # the rest is up to XLA
    assert {way: step.held_bytes for way, step in steps.items()} == {
        BATCH: weights + 2 * examples // devices,
        UNITS: weights // devices + 2 * examples,
        WEIGHTS: (weights + 2 * examples) // devices,
        BY_HAND: (weights + 2 * examples) // devices,
    }
    assert all(step.off < 1e-6 for step in steps.values())
