"""
How fast is linear algebra?
===========================

Your matrix product takes half a second. Is that good? Try another library, and you learn which of
the two is ahead, but they may both be far from what the device can do. This page compares NumPy,
PyTorch and JAX with each other, and then with the highest rates of arithmetic and of memory that we
could measure. A fast answer is no use if it is wrong, so we test the answers as well, and find out
what JAX may round in a product of float32.
"""

# %%
# Four tasks for three libraries
# ------------------------------
# Generate a random matrix, take its mean and its sum, multiply it by itself, and invert it. Here is
# all of that in JAX, on a matrix small enough to imagine:
import jax
import jax.numpy as jnp
import numpy as np

with jax.enable_x64(True):
    small = jax.random.uniform(jax.random.key(0), (3, 3), "float64")
    print(small.dtype, "mean", small.mean(), "sum", small.sum())
    print("product", (small @ small).shape)
    print("inverse", jnp.linalg.inv(small).shape)

# %%
# All libraries compute in float64 here. JAX does that only in its 64-bit mode, which
# :func:`jax.enable_x64` switches on for a block. The code for the other two looks much the same.
# This is PyTorch, whose arrays go to the GPU whenever JAX's do::
#
#     x = torch.rand((n, n), dtype=torch.float64, device=device)
#     x.mean(), x.sum()
#     torch.matmul(x, x)
#     torch.linalg.inv(x)
#
# The experiment has these four as each library's ``tasks``, and compiles JAX's with
# :func:`jax.jit`. It chooses sizes that suit the device:
from jaxcap.experiments import linear_algebra as experiments
from jaxcap.experiments.linear_algebra import as_numpy, libraries
from jaxcap.kernels import linalg

points = {p["task"]: p["size"] for p in experiments.LINEAR_ALGEBRA.points}
points

# %%
# For which task does the library matter?
# ---------------------------------------
# Make a guess before you look: for which task does the library matter most, and for which least?
results = experiments.LINEAR_ALGEBRA.run(budget_s=0.03)
results

# %%
ratios = {}
for task in points:
    times = [result.time.value for result in results.select(task=task)]
    ratios[task] = max(times) / min(times)

most_apart, least_apart = (
    max(ratios, key=ratios.get),
    min(ratios, key=ratios.get),
)
factor_apart = f"{ratios[most_apart]:.1f}"

# %%
# The medians of the libraries were farthest apart for the task :measured:`most_apart`, by a factor
# of :measured:`factor_apart`, and closest for :measured:`least_apart`. In *generate*, the libraries
# don't even do the same thing. On a CPU, NumPy's generator and PyTorch's make one number after the
# other. JAX's makes each number from its own counter, which can be done on all cores at once, but
# takes more operations: here it was :measured:`generates than NumPy's`.
#
# Each library has its own tuned code for large products. Is there a difference?
from jaxcap.report.claims import claim, speedup_of

product_is_faster = claim(
    "JAX multiplies large matrices in float64 faster than NumPy",
    results,
    speedup_of("JAX", over="NumPy", task="product"),
)
product_is_faster

# %%
# The arithmetic is the same in all three. If their times differ, one library's code suits this
# processor and its cores better, and we haven't looked into why.
#
# For the mean and the sum, JAX may have less to do. The mean *is* a sum, divided by the count.
# NumPy and PyTorch pass over the matrix twice, because neither call knows of the other, whereas JAX
# compiles both together, so that XLA sees the same sum twice. How many does it keep?
traced = jax.jit(linalg.mean_and_sum).lower(jnp.ones(1000))
print(traced.as_text().count("stablehlo.reduce("), "before compiling")
print(traced.compile().as_text().count(" reduce("), "after compiling")

# %%
# On a CPU, NumPy also sums on a single thread, while the other two can use several, and the loop
# itself may be better or worse. The measurement can't tell these causes apart:
one_sum_pays = claim(
    "JAX takes the mean and the sum of a large matrix faster than NumPy",
    results,
    speedup_of("JAX", over="NumPy", task="mean and sum"),
)
one_sum_pays

# %%
# How much is left to gain?
# -------------------------
# A device has two limits: how many operations it can do in a second, and how many bytes it can
# fetch from memory. Data sheets state both, but they assume a clock speed that your machine may not
# reach or sustain. So we measure them, with calls that should run into one limit only: a large
# product for the arithmetic, and a large copy or sum for the memory.
from jaxcap.experiments.ceilings import CEILINGS
from jaxcap.report.roofline import roofline_fraction
from jaxcap.results.ceilings import Ceilings

limits = CEILINGS.run(budget_s=0.05)
ceilings = {}
for result in limits:
    device = result.device
    ceilings[device] = Ceilings.from_results(limits, device)

for device, limit in ceilings.items():
    print(f"{device}: {limit.bytes_per_s / 1e9:.0f} GB/s")
    for dtype, rate in limit.flops_per_s.items():
        print(f"  {rate / 1e9:.0f} GFLOP/s in {dtype}")

# %%
# The device needs a certain time for a task's operations, and a certain time for its bytes. The
# task can't take less than the longer of the two. We divide that shortest possible time by the time
# that was measured, and call the result the *share of the limit*. A product of two matrices of
# ``n`` rows takes 2n³ operations. So does an inverse, and a sum reads the matrix once. Here are the
# shares of all four tasks:


def share_of_limit(result):
    """Return the least time that the task needs, over the time it took."""
    return roofline_fraction(
        result,
        ceilings[result.device],
        dtype="float64",
        cost=experiments.least_cost(**result.parameters),
    )


# %%
from jaxcap.results.tables import Table

names = results.variants
rows = []
for task in points:
    shares = [share_of_limit(results.only(n, task=task)) for n in names]
    rows.append((task, *(one.short for one in shares)))

Table("Share of the limit", ("task", *names), rows)

# %%
# A share far from 1 isn't always a fault. Random numbers are made with integer arithmetic, which
# these limits don't count, so they may take long in a good library. And an inverse has steps that
# must wait for each other, however many cores there are. A share above 1, on the other hand, means
# that the limit is too low: it was measured when the machine was busy, or with slower code, or the
# data came from a cache.
#
# A product is different, because its limit was measured with products, too: on a CPU, those of JAX
# and of NumPy. So a share near 1 says that you have the best of these. It doesn't say that the
# device can do no more.
#
# A *roofline* shows, in one picture, how close each task with floating-point arithmetic comes to
# its limit. A task under its slope is limited by memory, and a task under its flat part by
# arithmetic:
results_and_costs = [
    (result, experiments.least_cost(**result.parameters))
    for result in results
]

# %%
from jaxcap.report import figures

ours = results.only("JAX", task="product").device
_ = figures.roofline(
    ceilings[ours],
    results_and_costs,
    title=f"What float64 reaches on {ours}",
    name=lambda result: result.parameters["task"],
    dtype=lambda _: "float64",
)

# sphinx_gallery_thumbnail_number = 1

# %%
# A limit exposes a wrong time
# ----------------------------
# Knowing the limit also protects you from a number that is too good. The program on which this page
# is modelled stopped JAX's clock when the call returned, and not when the result was ready. What
# share of the limit would JAX's product reach by that clock?
n = points["product"]
product = results.only("JAX", task="product")
device = product.device
least_s = 2 * n**3 / ceilings[device].flops_per_s["float64"]
print(f"without waiting: {least_s / product.dispatch.value:.3g}")
print(f"with waiting:    {least_s / product.time.value:.2f}")

# %%
# The best product that we measured needn't be the device's last word, but a share far above 1 means
# that something is wrong: most often the clock, or else the count of operations or the number of
# bits. You can test other people's numbers in the same way: when somebody reports the time of a
# product, count its operations.
#
# A known property exposes a wrong answer
# ---------------------------------------
# To test an answer, look for a property that it must have. Take the random matrices. Each library
# draws numbers of its own, so comparing them element by element would tell us nothing. But uniform
# numbers from 0 to 1 have the mean 0.5. Their sum misses its expected value by chance, and theory
# says how large a miss is typical:
size = points["generate"]
expected, deviation = linalg.uniform_moments(size)["sum"]
rows = []
for library in libraries():
    matrix = library.tasks["generate"](size)
    mean, total = map(float, library.tasks["mean and sum"](matrix))
    off = f"{(total - expected) / deviation:.1f}"
    rows.append((library.name, f"{mean:.6f}", f"{total:,.0f}", off))

note = f"Expected: 0.5 and {expected:,.0f}, with a deviation of {deviation:,.0f}."
headers = ("library", "mean", "sum", "deviations off")
Table(f"Uniform matrix of {size:,} rows", headers, rows, [note])

# %%
# A library that is off by more than three deviations deserves a second look. For the inverse there
# is a stricter test: multiplied by its matrix, it must give the identity. This time all libraries
# get the same matrix, and we note how far each element of the product is from where it should be:
size = points["inverse"]
matrix = np.random.default_rng(0).random((size, size))
offsets = {}
for library in libraries():
    x = library.array(matrix)
    identity = library.tasks["product"](x, library.tasks["inverse"](x))
    offsets[library.name] = abs(as_numpy(identity) - np.eye(size))

# %%
rows = []
for name, offset in offsets.items():
    largest, mean = offset.max(), offset.mean()
    ratio = f"{largest / mean:.0f}"
    rows.append((name, f"{largest:.1e}", f"{mean:.1e}", ratio))

headers = ("library", "largest", "mean", "largest / mean")
Table("Distance of the product from the identity", headers, rows)

# %%
# Report the largest distance, and not the mean, which differs from it by the factor in the last
# column. The program that stopped its clock too early printed a "maximum absolute offset from
# identity" for three libraries, and for JAX, it was the mean. The printed number looked plausible.
#
# What JAX may round in float32
# -----------------------------
# Fewer bits can raise the limit itself, if the device has instructions for them. Here, it was
# :measured:`limit_16` in bfloat16 and :measured:`limit_32` in float32.
#
# On the page on :doc:`fewer bits </tutorials/performance/bits>`, you chose the format. But even if
# all your arrays are float32, JAX may round their elements to fewer bits inside a product, unasked.
# NVIDIA's tensor cores multiply in TF32, which has the range of float32 but only 10 bits of
# fraction in place of 23, and TPUs in bfloat16, which has 7. The argument ``precision`` decides
# whether JAX may do so, and its default favours speed. (:func:`jax.default_matmul_precision` sets
# it for a block.)
truth = matrix @ matrix
x = jnp.asarray(matrix, jnp.float32)


def error(found):
    """Return the largest error, relative to the largest element."""
    found = np.asarray(found, np.float64)
    return float(abs(found - truth).max() / truth.max())


# %%
# You need tensor cores to get the speed, but not to see the error: round the input to 10 bits, or
# to 7, and multiply in float32. Here are the errors against NumPy's product in 64 bits:
errors = {}
for setting in ("highest", "default"):
    errors[setting] = error(jnp.matmul(x, x, precision=setting))
for name, bits in ("TF32", 10), ("bfloat16", 7):
    rounded = jax.lax.reduce_precision(x, exponent_bits=8, mantissa_bits=bits)
    found = jnp.matmul(rounded, rounded, precision="highest")
    errors[f"rounded to {name}"] = error(found)

for name, largest in errors.items():
    print(f"{name:19} {largest:.1e}")

# %%
# On this device, the default setting :measured:`matters` the highest. CPUs usually ignore it. On a
# GPU that supports TF32, as NVIDIA's have since the A100, the default should show TF32's error.
#
# Each bit less doubles the error that comes from rounding the input. From 23 bits to 10, that
# predicts a factor of 2¹³, or 8,192. We saw a factor of :measured:`tf32_error`, because in float32
# another error is larger than that of the input: the rounding of the sums.
#
# Takeaway
# --------
against_numpy = product_is_faster.estimate
generates = results.speedup("JAX", over="NumPy", task="generate")
reached = share_of_limit(product)
tf32_error = errors["rounded to TF32"] / errors["highest"]
is_ignored = errors["default"] < 1.5 * errors["highest"]
matters = "is as exact as" if is_ignored else "is less exact than"
limit_16, limit_32 = (
    f"{ceilings[device].flops_per_s[dtype] / 1e9:.0f} GFLOP/s"
    for dtype in ("bfloat16", "float32")
)

# %%
# On this page's machine, a typical product by JAX in float64 reached :measured:`reached` of the
# best product that we measured, and was :measured:`against_numpy than NumPy's`. Where the limit
# comes from other code, as for the inverse, the share shows how much could be left to gain. Fewer
# bits may be faster where the device has instructions for them, but they cost accuracy everywhere:
# rounding the input to the 10 bits of TF32 multiplied the error of a float32 product by
# :measured:`tf32_error`. So check both halves of a benchmark. Compare the time with a limit that
# you know or measure. Then test the answer against a property that it must have, and look at the
# worst element, not at the mean.
#
# `JAX's page on precision <https://docs.jax.dev/en/latest/201/precision.html>`_ has more on the
# setting. :func:`~jaxcap.experiments.ceilings.measure_ceilings` measures the limits of your device,
# and :func:`~jaxcap.report.roofline.roofline_fraction` compares your times with them. Next:
# :doc:`will it fit into memory? </tutorials/performance/memory>`
