"""
What makes a comparison fair?
=============================

A headline says that one library is a thousand times as fast as another. Even if every time was
measured with care, the comparison may be unfair. This page takes such a headline apart. The task stays
the same, a thousand gradients by JAX and by PyTorch. What changes is how each of them is asked, and
with it the verdict.
"""

# %%
# Here is the headline: for a thousand gradients on a CPU, JAX was
# :measured:`headline than PyTorch`. Where does the factor come from?
#
# The headline compares a loop with a single call
# -----------------------------------------------
# The task is the slope of ``wave``, which is :math:`0.2 x + \sin(x) + \cos(2x)`, at a thousand
# points. This is how the headline asked PyTorch: in ``by_loop``, one point after another, with a
# ``backward()`` for each of them.
import torch


def wave_torch(x):
    return 0.2 * x + torch.sin(x) + torch.cos(2 * x)


def by_backward(x):
    leaf = x.detach().requires_grad_()
    wave_torch(leaf).sum().backward()
    return leaf.grad


def by_loop(x):
    return torch.stack([by_backward(point) for point in x])


# %%
# And it asked JAX for all points in one compiled call. But what would ``by_backward`` return if you gave
# it all points at once? Compare the three with the derivative worked out by hand,
# :math:`0.2 + \cos(x) - 2 \sin(2x)`:
import jax
import numpy as np

from jaxcap.kernels.autodiff import wave_derivative
from jaxcap.kernels.elementwise import wave

points = np.linspace(0, 10 * np.pi, 1000, dtype=np.float32)
tensor = torch.tensor(points)
by_jax = jax.jit(jax.vmap(jax.grad(wave)))
found = by_loop(tensor), by_backward(tensor), by_jax(points)
by_hand = wave_derivative(points)
errors = [abs(np.asarray(slopes) - by_hand).max() for slopes in found]
print("off by at most", *(f"{error:.1e}" for error in errors))

# %%
# That is rounding, so PyTorch doesn't need the loop either. ``by_backward`` adds up the results, each
# term of the sum depends on one point only, and so the gradient of the sum holds all slopes. How much
# of the headline is left if we compare JAX with that?
from jaxcap.experiments import gradients
from jaxcap.report import figures

results = gradients.GRADIENTS.run(budget_s=0.05)
on_cpu = results.select(device="cpu", points=1000)

three = {gradients.LOOP, gradients.BACKWARD, gradients.JIT}
fastest_first = sorted(on_cpu, key=lambda result: result.time.value)
_ = figures.bars(
    on_cpu.subset(r for r in fastest_first if r.variant in three),
    over=gradients.BACKWARD,
    about=gradients.JIT,
    title="Gradients of a thousand points on the CPU",
)

# %%
headline = on_cpu.speedup(gradients.JIT, over=gradients.LOOP)
loop_cost = on_cpu.speedup(gradients.BACKWARD, over=gradients.LOOP)
fair = on_cpu.speedup(gradients.JIT, over=gradients.BACKWARD)

# %%
# In PyTorch alone, one backward pass was :measured:`loop_cost than the loop`, and JAX was
# :measured:`fair than that one pass`. The headline is roughly the product of these two factors. Only
# the second compares two libraries. The first is what a loop of calls costs, and JAX has to pay for
# one, too, as :doc:`the page on vmap </tutorials/transformations/vmap>` shows.
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
# JAX can be treated unfairly, too
# --------------------------------
# The headline shows JAX at its best. Suppose that :func:`jax.jit` had been forgotten, or put around the
# derivative alone. The slopes would be as good:
def three_ways(function):
    slope = jax.grad(function)
    return {
        "vmap(grad)": jax.vmap(slope),
        "vmap(jit(grad))": jax.vmap(jax.jit(slope)),
        "jit(vmap(grad))": jax.jit(jax.vmap(slope)),
    }


for name, way in three_ways(wave).items():
    print(f"{name:15} off by {abs(way(points) - by_hand).max():.1e}")

# %%
# Would JAX still look good beside PyTorch? Here are the three ways, next to PyTorch's backward pass and
# to ``torch.func.vmap(torch.func.grad(wave_torch))``, which transforms the function as JAX does:
_ = figures.bars(
    on_cpu.subset(r for r in fastest_first if r.variant != gradients.LOOP),
    over=gradients.BACKWARD,
    about=gradients.OP_BY_OP,
    title="The same gradients, without a loop",
)

# %%
without_jit = on_cpu.speedup(gradients.OP_BY_OP, over=gradients.BACKWARD)
misplaced = on_cpu.speedup(gradients.INNER_JIT, over=gradients.BACKWARD)
read_alike = on_cpu.speedup(gradients.OP_BY_OP, over=gradients.FUNC)


# %%
# JAX was :measured:`without_jit than the backward pass` where ``jit`` was forgotten, and
# :measured:`misplaced` where it stood inside. Nor is a pair fair just because the code reads alike:
# JAX's ``vmap(grad)`` was :measured:`read_alike than PyTorch's`.
#
# JAX's three ways differ in what they leave to Python. Let the function print something whenever Python
# runs it, and call each way three times:
def talkative(x):
    print("  Python runs the function")
    return wave(x)


for name, mapped in three_ways(talkative).items():
    print(name)
    for _ in range(3):
        mapped(points)

# %%
# Without ``jit``, every call runs your function again, and starts its operations one by one. With
# ``jit`` in either place, the function runs once. But Python runs whatever stands outside ``jit`` at
# every call, and in ``vmap(jit(grad))``, that is ``vmap``. With ``jit`` around everything, later calls
# go straight to the compiled program.
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
# JAX at its best against PyTorch's backward pass still sets a compiled program against an uncompiled one.
# PyTorch can compile as well, by `torch.compile
# <https://docs.pytorch.org/docs/stable/generated/torch.compile.html>`__. We left that out because, on a
# CPU, it needs a C++ compiler, which you may not have. So our numbers can't tell you how PyTorch does
# at its best. They also leave out first calls, in which JAX compiles, and other sizes and devices.
#
# Takeaway
# --------
inner_jit = on_cpu.speedup(gradients.JIT, over=gradients.INNER_JIT)

# %%
# Before you believe a comparison of two libraries, ask whether each of them was used at its best,
# and what was left out. For a thousand gradients on this page's CPU, JAX was
# :measured:`headline than PyTorch's loop`, and
# :measured:`fair than PyTorch's backward pass of the sum`. Without ``jit``, JAX was
# :measured:`without_jit than that pass`. Even the second pair leaves out ``torch.compile``, which may
# change the verdict.
#
# In JAX, write ``jit(vmap(grad(f)))``, so that no later call has to run ``vmap`` in Python. On this
# page, such a call was :measured:`inner_jit than with jit inside vmap`.
#
# Next: :doc:`what a loop costs </tutorials/transformations/loops>`, for steps that build on one
# another.
