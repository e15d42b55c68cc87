"""
What makes a comparison fair?
=============================

A comparison of two libraries can be measured with care and still be unfair. This page takes one
apart. It computes the same thousand gradients in six ways, three by JAX and three by PyTorch, and
asks which two of them you can fairly compare.
"""

# %%
# Here is the headline: for a thousand gradients on a CPU, JAX was
# :measured:`headline than PyTorch`. Where does the factor come from?
#
# Three ways in PyTorch
# ---------------------
# The task is the slope of ``wave``, which is :math:`0.2 x + \sin(x) + \cos(2x)`, at many points. In
# PyTorch, you set ``requires_grad`` on the input, compute a result, and call ``backward()`` on it.
# To get all slopes at once, go backwards from the sum, because each of its terms depends on one
# point only. Or go backwards from one point after another, in a loop. Or let ``torch.func``
# transform the function, as JAX does:
import torch


def wave_torch(x):
    return 0.2 * x + torch.sin(x) + torch.cos(2 * x)


def by_backward(x):
    leaf = x.detach().requires_grad_()
    wave_torch(leaf).sum().backward()
    return leaf.grad


def by_loop(x):
    return torch.stack([by_backward(point) for point in x])


by_func = torch.func.vmap(torch.func.grad(wave_torch))

# %%
# Three ways in JAX, which differ in where jit stands
# ---------------------------------------------------
# In JAX, ``jax.vmap(jax.grad(wave))`` computes the slopes at all points. We compare it without
# :func:`jax.jit`, with ``jit`` inside ``vmap``, and with ``jit`` around everything. To see what each
# of them leaves for Python to do, let the function print something, and make three calls:
import jax
import numpy as np

from jaxcap.kernels.elementwise import wave

points = np.linspace(0, 10 * np.pi, 1000, dtype=np.float32)


def talkative(x):
    print("  Python runs the function")
    return wave(x)


# %%
ways = {
    "vmap(grad)": jax.vmap(jax.grad(talkative)),
    "vmap(jit(grad))": jax.vmap(jax.jit(jax.grad(talkative))),
    "jit(vmap(grad))": jax.jit(jax.vmap(jax.grad(talkative))),
}
for name, mapped in ways.items():
    print(name)
    for _ in range(3):
        mapped(points)

# %%
# Without ``jit``, every call runs your function again, with ``grad`` and ``vmap`` intercepting each
# operation, and dispatches each operation by itself. With ``jit`` in either place, the function
# runs once. But what the print can't show is that an outer ``vmap`` still runs in Python: in each
# call, it wraps the arguments and looks up what the compiled function becomes for a whole array.
# With ``jit`` around everything, a call goes straight to the compiled program.
#
# Six ways to a thousand gradients
# --------------------------------
# Do all six agree with the derivative worked out by hand, :math:`0.2 + \cos(x) - 2 \sin(2x)`?
from jaxcap.experiments import gradients
from jaxcap.kernels.autodiff import wave_derivative

calls = gradients.prepare(points=1000, device="cpu")
by_hand = wave_derivative(points)
errors = [abs(np.asarray(call()) - by_hand).max() for call in calls.values()]
print(f"{len(calls)} ways, off by at most {max(errors):.1e}")

# %%
# That is rounding. Let them take turns, in fresh processes:
from jaxcap.report import figures

results = gradients.GRADIENTS.run(budget_s=0.05)
on_cpu = results.select(device="cpu", points=1000)
_ = figures.bars(
    on_cpu,
    over=gradients.BACKWARD,
    about=gradients.JIT,
    title="Gradients of a thousand points on the CPU",
)

# %%
# A thousand points are almost no work, so most of each time is overhead, and the loop pays it a
# thousand times. ``torch.func`` runs the Python function again in every call, as JAX does without
# ``jit``. Even JAX's one compiled call is large enough to be :doc:`handed to another thread
# </tutorials/performance/dispatch_overhead>` on a CPU, which costs time.
#
# The fairest pair that we measured
# ---------------------------------
# The headline sets PyTorch in a loop against JAX compiled as a whole. It says little about either
# library, because a loop of calls is slow in JAX, too, as :doc:`the page on vmap
# </tutorials/transformations/vmap>` shows. A fairer comparison sets the same ``jit`` against the
# backward pass of the sum, which needs no loop either. Here is the headline, taken apart:
from jaxcap.results.tables import Table

headline = on_cpu.speedup(gradients.JIT, over=gradients.LOOP)
loop_cost = on_cpu.speedup(gradients.BACKWARD, over=gradients.LOOP)
fair = on_cpu.speedup(gradients.JIT, over=gradients.BACKWARD)

# %%
pairs = {
    "JAX, over PyTorch's loop": headline,
    "PyTorch's backward pass, over its loop": loop_cost,
    "JAX, over PyTorch's backward pass": fair,
}
rows = [
    (name, r.short, r.range, r.verdict_in_words) for name, r in pairs.items()
]
headers = ("pair", "times as fast", fair.interval_name, "verdict")
Table("What a headline is made of", headers, rows)

# %%
larger = (
    "the price of a loop"
    if loop_cost.value > fair.value
    else "a difference between the libraries"
)

# %%
# The first row is the headline. It is roughly the product of the two rows below it: what PyTorch
# gains by dropping its loop, times what JAX gains on top. (Each ratio is a median over rounds of
# its own, so the product isn't exact.) Most of the headline is :measured:`larger`.
from jaxcap.report.claims import BEST, claim, speedup_of

jax_is_faster = claim(
    "JAX's best way to a thousand gradients on a CPU is faster than "
    "PyTorch's uncompiled one",
    results,
    speedup_of(
        gradients.JIT, over=gradients.BACKWARD, points=1000, device="cpu"
    ),
)
jax_is_faster

# %%
# Even this pair sets a compiled program against an uncompiled one. We left out ``torch.compile``,
# because it needs a C++ compiler on the machine. Where there is one, PyTorch may well draw level or
# come out ahead, as it did in a try of ours. First calls are left out, too: JAX's took
# :measured:`first_jax`, most of it to compile, and PyTorch's :measured:`first_torch`. So if you
# quote one number, quote the last row, with its conditions: a thousand points, one CPU, PyTorch
# uncompiled, and no first calls. For larger arrays, also say how many threads each library may use.
# A thousand points are too few to share.
#
# Back to JAX alone: does it matter where ``jit`` stands?
jit_belongs_outside = claim(
    "a thousand gradients come faster with jit around vmap than inside",
    results,
    speedup_of(
        gradients.JIT,
        over=gradients.INNER_JIT,
        points=1000,
        device=BEST,
    ),
)
jit_belongs_outside

# %%
# Takeaway
# --------
inner_jit = on_cpu.speedup(gradients.JIT, over=gradients.INNER_JIT)
first_jax, first_torch = (
    on_cpu.only(way).first_call for way in (gradients.JIT, gradients.BACKWARD)
)

# %%
# Before you believe a comparison of two libraries, ask whether each of them was used at its best,
# and what was left out. For a thousand gradients on this page's CPU, JAX was
# :measured:`headline than PyTorch's loop`, and
# :measured:`fair than PyTorch's backward pass of the sum`. Even that pair leaves out
# ``torch.compile``, which may well change the verdict.
#
# In JAX, write ``jit(vmap(grad(f)))``, so that ``vmap`` doesn't run in Python in every call. On this
# page, a call was then :measured:`inner_jit than with jit inside vmap`.
#
# Next: :doc:`what a loop costs </tutorials/transformations/loops>`, for steps that build on one
# another.
