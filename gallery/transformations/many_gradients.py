"""
What makes a comparison fair?
=============================

If a headline says that one library is a thousand times faster than another, the comparison may be
unfair, even if every time was measured with care. This page takes such a headline apart. It computes
the same thousand gradients in six ways, three by JAX and three by PyTorch, and asks which two of them
you can fairly compare.
"""

# %%
# Here is the headline: for a thousand gradients on a CPU, JAX was
# :measured:`headline than PyTorch`. Where does the factor come from?
#
# Three ways in PyTorch, and three in JAX
# ---------------------------------------
# The task is the slope of ``wave``, which is :math:`0.2 x + \sin(x) + \cos(2x)`, at a thousand
# points. In PyTorch, you can compute one result after another, and call ``backward()`` on each, in a
# loop. You can also call it once, on the sum of all results: each term of the sum depends on one
# point only, so the gradient of the sum holds all slopes. Or you let ``torch.func`` transform the
# function, as JAX does:
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
# In JAX, :func:`jax.vmap` maps the derivative over the points. The three ways differ in where
# :func:`jax.jit` stands:
import jax


def three_ways(function):
    derivative = jax.grad(function)
    return {
        "vmap(grad)": jax.vmap(derivative),
        "vmap(jit(grad))": jax.vmap(jax.jit(derivative)),
        "jit(vmap(grad))": jax.jit(jax.vmap(derivative)),
    }


# %%
# Do all six agree with the derivative worked out by hand, :math:`0.2 + \cos(x) - 2 \sin(2x)`?
import numpy as np

from jaxcap.kernels.autodiff import wave_derivative
from jaxcap.kernels.elementwise import wave

points = np.linspace(0, 10 * np.pi, 1000, dtype=np.float32)
found = [way(points) for way in three_ways(wave).values()]
tensor = torch.tensor(points)
found += [by_loop(tensor), by_backward(tensor), by_func(tensor)]
by_hand = wave_derivative(points)
errors = [abs(np.asarray(slopes) - by_hand).max() for slopes in found]
print(f"{len(found)} ways, off by at most {max(errors):.1e}")

# %%
# That is rounding, so all six do the same job. Which two of them does the headline compare, and which
# two would you compare? Here are their times:
from jaxcap.experiments import gradients
from jaxcap.report import figures

results = gradients.GRADIENTS.run(budget_s=0.05)
on_cpu = results.select(device="cpu", points=1000)
fastest_first = sorted(on_cpu, key=lambda result: result.time.value)
_ = figures.bars(
    on_cpu.subset(fastest_first),
    over=gradients.BACKWARD,
    about=gradients.JIT,
    title="Gradients of a thousand points on the CPU",
)

# %%
# Take the headline apart
# -----------------------
# The headline sets PyTorch's loop, which makes several calls for each point, against a single call of
# ``jit(vmap(grad))``. A loop of calls has its price in JAX, too, as :doc:`the page on vmap
# </tutorials/transformations/vmap>` shows, so the headline says little about PyTorch. The backward pass
# of the sum needs no loop. How much of the headline is left if we compare JAX with that?
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
# The headline is roughly the product of the other two factors: what PyTorch's loop costs, and what
# is left without that loop. If you have to quote a single number, quote the last, and say what it
# leaves out.
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
# For JAX, ask where jit stands
# -----------------------------
# A comparison can be unfair to JAX as well, if it picks the wrong one of our three ways. They differ in
# what they leave to Python. Let the function print something whenever Python runs it, and make three
# calls. How often will each way print?
def talkative(x):
    print("  Python runs the function")
    return wave(x)


for name, mapped in three_ways(talkative).items():
    print(name)
    for _ in range(3):
        mapped(points)

# %%
# Without ``jit``, every call runs your function again, and starts its operations one by one. With
# ``jit`` in either place, the function runs once, so the last two ways look alike. But Python runs
# whatever stands outside ``jit`` at every call, and in the second way, that is ``vmap``. With ``jit``
# around everything, later calls go straight to the compiled program. What is that worth?
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
# Say what you left out
# ---------------------
# Even JAX against PyTorch's backward pass sets a compiled program against an uncompiled one. PyTorch
# can compile as well, by `torch.compile
# <https://docs.pytorch.org/docs/stable/generated/torch.compile.html>`__. We left that out because, on a
# CPU, it needs a C++ compiler, which you may not have. So our numbers can't tell you how PyTorch does
# at its best.
#
# Our numbers also leave out first calls, in which JAX compiles, and a thousand points on one CPU can't
# stand for ten million points on a GPU.
#
# Takeaway
# --------
inner_jit = on_cpu.speedup(gradients.JIT, over=gradients.INNER_JIT)

# %%
# Before you believe a comparison of two libraries, ask whether each of them was used at its best,
# and what was left out. For a thousand gradients on this page's CPU, JAX was
# :measured:`headline than PyTorch's loop`, and
# :measured:`fair than PyTorch's backward pass of the sum`. Even that pair leaves out
# ``torch.compile``, which may change the verdict.
#
# In JAX, write ``jit(vmap(grad(f)))``, so that no later call has to run ``vmap`` in Python. On this
# page, such a call was :measured:`inner_jit than with jit inside vmap`.
#
# Next: :doc:`what a loop costs </tutorials/transformations/loops>`, for steps that build on one
# another.
