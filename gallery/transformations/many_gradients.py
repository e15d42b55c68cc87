"""
What makes a comparison fair?
=============================

A thousand gradients, by JAX and by PyTorch: which library is ahead? This page computes the same
gradients in six ways, and then asks which two of them can fairly be compared.

Here is a bold headline to begin with: for a thousand gradients on a CPU, JAX was
:measured:`headline than PyTorch`. It was measured with care, and yet it isn't fair. What is it made
of?
"""

# %%
# Three ways in PyTorch, with the same slopes
# -------------------------------------------
# The task is the slope of ``wave``, which is :math:`0.2 x + \sin(x) + \cos(2x)`, at many points. In
# PyTorch, you usually mark the input, compute, and go backwards from the result. To get all slopes
# at once, go backwards from the sum. Since each of its terms depends on one point only, the
# gradient at that point is the slope there:
import torch


def wave_torch(x):
    return 0.2 * x + torch.sin(x) + torch.cos(2 * x)


leaf = torch.linspace(0, 4 * torch.pi, 20, requires_grad=True)
wave_torch(leaf).sum().backward()
leaf.grad[:5]

# %%
# PyTorch can also transform functions, as JAX does:
torch.func.vmap(torch.func.grad(wave_torch))(leaf.detach())[:5]

# %%
# And you can write a loop that goes backwards from one point after another:
singles = [point.detach().requires_grad_() for point in leaf]
for point in singles:
    wave_torch(point).backward()
torch.stack([point.grad for point in singles])[:5]

# %%
# Three ways in JAX, which differ in where jit stands
# ---------------------------------------------------
# In JAX, ``jax.vmap(jax.grad(wave))`` computes the slopes at all points, and :func:`jax.jit` can
# stand in three places: nowhere, inside ``vmap``, or around everything. All three give the same
# slopes. Does it matter where ``jit`` stands? To see, count what is left for Python. How often does
# the body of the function run in ten calls, and how many operations does a trace of a call record?
import jax
import numpy as np

from jaxcap.experiments import gradients
from jaxcap.kernels.elementwise import wave
from jaxcap.measure.compilation import kernels_op_by_op
from jaxcap.results.tables import Table

points = np.linspace(0, 10 * np.pi, 1000, dtype=np.float32)
ways = {
    "vmap(grad)": lambda f: jax.vmap(jax.grad(f)),
    "vmap(jit(grad))": lambda f: jax.vmap(jax.jit(jax.grad(f))),
    "jit(vmap(grad))": lambda f: jax.jit(jax.vmap(jax.grad(f))),
}


# %%
def runs_of_python(way):
    """Count how often the function itself runs in ten calls."""
    runs = []

    def watched(x):
        runs.append(x)
        return wave(x)

    mapped = way(watched)
    for _ in range(10):
        mapped(points)
    return str(len(runs))


# %%
rows = []
for name, way in ways.items():
    operations = kernels_op_by_op(way(wave), points)
    rows.append((name, runs_of_python(way), str(operations)))
headers = ("way", "runs of Python in ten calls", "operations in a trace")
Table("What is left for Python", headers, rows)

# %%
# Without ``jit``, every call runs your Python function again, with ``grad`` and ``vmap`` following
# each step, and dispatches each operation by itself. With ``jit`` inside, a single operation is
# left. But ``vmap`` still runs in Python: in each call, it wraps the arguments and looks up what
# that operation becomes for a whole array. With ``jit`` around everything, a call goes straight to
# the compiled program, which is why the usual advice is to put ``jit`` on the outside.
#
# Six ways to a thousand gradients
# --------------------------------
# That makes six ways in two libraries. Before we look at the clock, do they agree with the
# derivative worked out by hand, :math:`0.2 + \cos(x) - 2 \sin(2x)`?
from jaxcap.kernels.autodiff import wave_derivative

with jax.enable_x64(True):
    truth = np.asarray(wave_derivative(points.astype(float)))

calls = gradients.prepare(points=1000, device="cpu")
errors = [abs(np.asarray(call()) - truth).max() for call in calls.values()]
print(f"off by at most {max(errors):.1e}")

# %%
# That is rounding, so all six agree. Let them take turns, in fresh processes:
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
# The fairest pair that we measured
# ---------------------------------
# A thousand points is almost no work, so most of each time is overhead, and the loop pays it a
# thousand times. ``torch.func`` runs the Python function again in every call, with ``vmap`` and
# ``grad`` following each step, as JAX does without ``jit``. Even a single compiled call of JAX
# pays for being :doc:`handed to another thread </tutorials/performance/dispatch_overhead>` on a
# CPU, which a smaller program would be spared.
#
# The headline compares PyTorch in a loop with JAX compiled as a whole. It says little about either
# library, because a loop of calls is slow in JAX, too, as :doc:`the page on vmap
# </tutorials/transformations/vmap>` shows.
#
# A fairer comparison sets the same ``jit`` against the backward pass of the sum, which needs no
# loop either. PyTorch may do better with ``torch.compile``, which we leave out, because it needs a
# C++ compiler on the machine. So even this pair sets a compiled program against an uncompiled one.
# Here is the headline, taken apart:
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
# The first row is the headline. It is about the product of the two rows below it: what PyTorch
# gains by dropping its loop, times what JAX gains on top. (Each ratio is a median over rounds of
# its own, so the product isn't exact.) Most of the headline is :measured:`larger`. If you quote one
# number, quote the last row, with its conditions: a thousand points, a CPU, PyTorch uncompiled, and
# first calls left out.
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
# Within JAX, either place of ``jit`` left one operation to Python. Did the place still matter?
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

# %%
# Before you believe a comparison of two libraries, ask whether each of them was used at its best,
# and what was left out. For a thousand gradients on this page's CPU, JAX was
# :measured:`headline than PyTorch's loop`, and
# :measured:`fair than PyTorch's backward pass of the sum`. Even that pair leaves out
# ``torch.compile``.
#
# In JAX, write ``jit(vmap(grad(f)))``, so that ``vmap`` doesn't run in Python in every call. That
# was :measured:`inner_jit than jit inside vmap`.
#
# Next: :doc:`what a loop costs </tutorials/transformations/loops>`, for steps that build on one
# another.
