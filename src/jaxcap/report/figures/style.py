"""How figures look: their colours, of which each variant has one on all pages, and their axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil, floor, log10
from pathlib import Path
from zlib import crc32

import matplotlib.pyplot as plt
from matplotlib import rc_params_from_file
from matplotlib.axis import Axis
from matplotlib.ticker import EngFormatter, FixedLocator, Formatter, MaxNLocator, NullLocator

STYLE_FILE = Path(__file__).with_name("jaxcap.mplstyle")
STYLE = rc_params_from_file(STYLE_FILE, use_default_template=False)
COLOURS: tuple[str, ...] = tuple(STYLE["axes.prop_cycle"].by_key()["color"])
MARKERS = ("o", "s", "^", "D", "v", "P")
INK, INK_ON_DARK = STYLE["text.color"], "#e6edf3"
GRID = STYLE["grid.color"]
#: Of text that explains others.
SMALL = 10.5

BLUE, ORANGE, GREEN, VIOLET, LILAC, PINK, BROWN, GREY = COLOURS
# Those that stand for no library, which names without a colour of their own take first.
_NEUTRAL = (GREEN, LILAC, PINK, BROWN, GREY)
#: The colour of names that begin so, the longest such beginning first. Those of an experiment differ, and
#: a name whose colour by its letters is taken there is listed, so that it has one colour everywhere.
VARIANTS = {
    "NumPy": BLUE,
    "NumPy float32": LILAC,
    "jit": ORANGE,
    "jax.jit": ORANGE,
    "JAX": ORANGE,
    "Flax": ORANGE,
    "op by op": GREEN,
    "jnp": GREEN,
    "PyTorch": VIOLET,
    "autograd": LILAC,
    "SciPy": LILAC,
    "Python loop": PINK,
    # Ways to call the same function.
    "vmap": BLUE,
    "vmap(grad)": GREEN,
    "vmap(jit(grad))": BROWN,
    "torch.func": LILAC,
    "PyTorch loop": PINK,
    "by hand": GREEN,
    "compiled": ORANGE,
    "gradients, Python loop": PINK,
    "gradients, vmap": BLUE,
    "gradients, by hand": GREEN,
    "jit in each call": BROWN,
    "jit, each awaited": BROWN,
    "jit with split": GREY,
    "scan": VIOLET,
    "jax.jit again": BLUE,
    "typed_jit": BROWN,
    "jnp on NumPy arrays": BROWN,
    "scan, unroll": ORANGE,
    "fori_loop": BLUE,
    "while_loop": GREEN,
    "lax.map": GREEN,
    "lax.map, batch_size": ORANGE,
    "jnp.sort": GREEN,
    "jnp.argsort": ORANGE,
    "jnp.cumsum": BROWN,
    "np.sort": BLUE,
    "np.argsort": LILAC,
    "np.cumsum": VIOLET,
    "exact lengths": BLUE,
    "padded": ORANGE,
    "a new lambda": PINK,
    "a new wrapper": BROWN,
    "wrapped once": ORANGE,
    "sent each time": BLUE,
    "already there": ORANGE,
    "split one by one": BLUE,
    "next(stream)": ORANGE,
    "split into all": GREEN,
    "stream(n)": BROWN,
    "SciPy, differences": BLUE,
    "Flax, naive": GREEN,
    "Flax, steps on the device": BROWN,
    "Flax, steps with patches": LILAC,
    "Flax, scan": PINK,
    "Flax, steps with Winograd": PINK,
    "Flax, scan with Winograd": ORANGE,
    "PyTorch, compiled": BLUE,
    "gradient, fori_loop": LILAC,
    "gradient, scan": GREY,
    "in a trace of its own": LILAC,
    "plain dict": PINK,
    "checkpoint layers": GREY,
    "checkpoint layers, keep products": GREEN,
    "psum_scatter": PINK,
    "psum_scatter, all_gather": BROWN,
    "ppermute": BLUE,
    "split batch": ORANGE,
    "split units": VIOLET,
    "its first number": PINK,
    "to NumPy": GREY,
    "block_until_ready": BLUE,
    "product": ORANGE,
    "cosine": GREEN,
    ".at[].add": GREEN,
    "np.add.at": BLUE,
    "np.bincount": LILAC,
    # Number formats, and how many devices share the work.
    "float64": BROWN,
    "float32": BLUE,
    "float16": ORANGE,
    "bfloat16": GREEN,
    "bfloat16 and float32": VIOLET,
    "1 device": BLUE,
    "2 devices": LILAC,
    "4 devices": BROWN,
    "8 devices": GREEN,
    # Functions, beside which the ways to call them keep their own colours.
    "selu": PINK,
    "sigmoid": LILAC,
    "wave": BLUE,
    "add": GREY,
    # Times of the same call.
    "wrong": PINK,
    "right": GREEN,
    "wait, then read": GREEN,
    "read meanwhile": ORANGE,
}


def use_style() -> None:
    """Draw all further figures of Matplotlib in this site's style."""
    plt.rcParams.update(STYLE)


def escape_math(text: str) -> str:
    """Escape the sign that starts a formula in Matplotlib: names may come from any file."""
    return text.replace("$", r"\$")


def palette(names: Iterable[str]) -> Mapping[str, str]:
    """Give each name its colour: that of ``VARIANTS``, so that all figures agree, or one by its letters.

    The names keep their order. A name without a colour of its own takes the next one that is free, if
    another name has that.
    """
    chosen = dict.fromkeys(names, "")
    unknown = []
    for name in chosen:
        start = max((start for start in VARIANTS if name.startswith(start)), key=len, default=None)
        if start is None:
            unknown.append(name)
        else:
            chosen[name] = VARIANTS[start]
    for name in unknown:
        own = crc32(name.encode()) % len(_NEUTRAL)
        turned = (*_NEUTRAL[own:], *_NEUTRAL[:own], *COLOURS)
        chosen[name] = next((c for c in turned if c not in chosen.values()), _NEUTRAL[own])
    return chosen


def log_axis(
    axis: Axis,
    low: float,
    high: float,
    formatter: Formatter,
    *,
    margin: float = 0.05,
    most_ticks: int = 7,
) -> None:
    """Make an axis logarithmic that holds two positive numbers, with at least two ticks.

    Ticks are at powers of ten, or where there is no room for two of these, at others:
    at three or more if possible, because with two the axis would look like a linear one.
    """
    room = (high / low) ** margin * 1.03
    low, high = low / room, high * room
    decades = range(floor(log10(low)) - 1, ceil(log10(high)) + 2)
    for multiples, least in (((1,), 2), ((1, 2, 5), 3), ((1, 2, 3, 5, 7), 3)):
        ticks = [multiple * 10.0**n for n in decades for multiple in multiples]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) >= least:
            break
    else:
        evenly = MaxNLocator(5, steps=[1, 2, 4, 5, 10]).tick_values(low, high)
        ticks = [float(tick) for tick in evenly if low <= tick <= high]
    step = ceil(len(ticks) / most_ticks)
    ticks = ticks[(len(ticks) - 1) % step :: step]
    is_x = axis is axis.axes.xaxis
    (axis.axes.set_xscale if is_x else axis.axes.set_yscale)("log")
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(formatter)
    (axis.axes.set_xlim if is_x else axis.axes.set_ylim)(low, high)


def linear_axis(axis: Axis, high: float, formatter: Formatter) -> None:
    """Tick an axis from zero as far as the numbers on it go: beyond, it has room for words."""
    evenly = MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(0, high)  # their labels are long
    axis.set_major_locator(FixedLocator([float(tick) for tick in evenly if 0 <= tick <= high]))
    axis.set_major_formatter(formatter)


def size_axis(axis: Axis, low: float, high: float, sizes: Iterable[float]) -> None:
    """Make an axis of sizes logarithmic, and tick them if they are round numbers, else powers of ten."""
    log_axis(axis, low, high, EngFormatter(sep=""), margin=0.08)  # room for neighbours
    sizes = sorted(set(sizes))
    if all(f"{size:.1e}"[2] in "05" for size in sizes) and all(size < 1e15 for size in sizes):
        apart = log10(high / low) / 6 if high > low else 0
        kept = [sizes[-1]]  # which is always labelled
        for size in reversed(sizes[:-1]):
            if log10(kept[0] / size) >= apart:
                kept.insert(0, size)
        axis.set_major_locator(FixedLocator(kept))
