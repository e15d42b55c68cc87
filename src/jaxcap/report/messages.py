"""What devices send each other in a step, read off the program that XLA compiles for a CPU.

Compiling for several devices takes several devices, so this runs in a process of its own, in which
one CPU acts as many: ``python -m jaxcap.report.messages WIDTH BATCH...``.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from math import prod
from typing import Any, NamedTuple

import jax

from jaxcap.kernels import sharded_step
from jaxcap.report.virtual_devices import run_python

# The type of a result, an array or a tuple of arrays, and the operation that sends it.
_MESSAGE = re.compile(r" = ((\S+|\([^()]*\)) (all-reduce|all-gather|reduce-scatter)\([^()]*\))")
_ARRAY = re.compile(r"\bf32\[([\d,]*)\]")
_ARRAY_BYTES = 4


class Message(NamedTuple):
    """An operation of a compiled program for which devices talk to each other.

    Attributes
    ----------
    operation
        Its name in XLA's notation.
    size_bytes
        The size of the whole arrays that are added up or put together.
    code
        Its line of the program, from the type of its result to its arguments.
    """

    operation: str
    size_bytes: int
    code: str

    def sent_bytes(self, devices: int) -> float:
        """Return the least that a device has to send, on average over all of them."""
        once = self.size_bytes * (devices - 1) / devices
        return 2 * once if self.operation == "all-reduce" else once


class Step(NamedTuple):
    """What is known of a step before it is measured.

    Attributes
    ----------
    way
        How its arrays are split: a key of `jaxcap.kernels.sharded_step.SPLITS`.
    batch, width
        The shape of a batch.
    devices
        How many devices share it.
    held_bytes
        The size of the arguments on each of them.
    messages
        What they send each other.
    off
        How far its weights are from those that one device computes: the largest difference.
    """

    way: str
    batch: int
    width: int
    devices: int
    held_bytes: int
    messages: tuple[Message, ...]
    off: float

    @property
    def sent_bytes(self) -> float:
        """The least that a device has to send in the step, on average over all of them."""
        return sum(message.sent_bytes(self.devices) for message in self.messages)

    @property
    def words(self) -> str:
        """Its messages in words, such as ``"2 all-gathers and 1 all-reduce"``."""
        counts = Counter(message.operation for message in self.messages)
        return " and ".join(
            f"{count} {operation}{'s' * (count > 1)}" for operation, count in counts.items()
        )


def compiled_steps(batches: Iterable[int], width: int, devices: int = 8) -> list[Step]:
    """Compile and run a step for each batch in each way, in a process with so many devices."""
    sizes = map(str, (width, *batches))
    rows: list[dict[str, Any]] = json.loads(run_python("-m", __name__, *sizes, devices=devices))
    return [
        Step(**row | {"messages": tuple(Message(*message) for message in row["messages"])})
        for row in rows
    ]


def messages_of(program: str, devices: int) -> list[Message]:
    """Find the messages in a compiled program of float32 arrays, in XLA's notation."""
    messages = []
    for code, arrays, operation in _MESSAGE.findall(program):
        shapes = [map(int, filter(None, dims.split(","))) for dims in _ARRAY.findall(arrays)]
        size_bytes = _ARRAY_BYTES * sum(map(prod, shapes))
        if operation == "reduce-scatter":  # its result is a device's part
            size_bytes *= devices
        messages.append(Message(operation, size_bytes, code))
    return messages


def steps_here(batch: int, width: int) -> Iterator[Step]:
    """Compile and run a step in each way, on all devices of this process."""
    devices = jax.devices()
    alone, together = map(sharded_step.explicit_mesh, (devices[:1], devices))
    expected = jax.device_get(sharded_step.step_on_mesh(sharded_step.BATCH, alone, batch, width)())
    for way in sharded_step.SPLITS:
        call: Any = sharded_step.step_on_mesh(way, together, batch, width)
        compiled = call.func.lower(*call.args).compile()
        pairs = zip(jax.device_get(compiled(*call.args)), expected, strict=True)
        yield Step(
            way,
            batch,
            width,
            len(devices),
            held_bytes=compiled.memory_analysis().argument_size_in_bytes,
            messages=tuple(messages_of(compiled.as_text(), len(devices))),
            off=max(float(abs(ours - theirs).max()) for ours, theirs in pairs),
        )


if __name__ == "__main__":
    width, *batches = map(int, sys.argv[1:])
    print(json.dumps([step._asdict() for batch in batches for step in steps_here(batch, width)]))
