"""
How fast is linear algebra?
===========================

Your matrix product takes half a second. Is that good? If you time another library, you learn which
of the two is ahead, but both may be far from what your device can do. So this page measures what the
device can do, and compares NumPy, PyTorch and JAX with that. Such a limit also exposes a time that is
too good to be true.
"""

# %%
# Four tasks for three libraries
# ------------------------------
# Generate a random matrix, take its mean and its sum, multiply two matrices, and invert one. Here is
# all of that in JAX, which needs its 64-bit mode for float64. The product also tests the inverse,
# because a matrix times its inverse must give the identity:
import jax
import jax.numpy as jnp

size = 1000
with jax.enable_x64(True):
    matrix = jax.random.uniform(jax.random.key(0), (size, size), "float64")
    print(f"mean {matrix.mean():.3f}, sum {matrix.sum():,.0f}")
    identity = matrix @ jnp.linalg.inv(matrix)
    off = abs(identity - jnp.eye(size))
    print(f"off by {off.max():.0e} at most, by {off.mean():.0e} on average")

# %%
# Report the largest distance, because a mean can hide a single wrong element. The program on which
# this page is modelled printed a "maximum absolute offset from identity" for three libraries, but for
# JAX, the number was the mean.
#
# NumPy and PyTorch do the same tasks by functions with much the same names. We compile JAX's, and
# PyTorch computes on the GPU whenever JAX does. For which task do you expect the library to matter
# most?
from jaxcap.experiments import linear_algebra as experiments

results = experiments.LINEAR_ALGEBRA.run(budget_s=0.03)

# %%
from jaxcap.results.tables import Table

points = {p["task"]: p["size"] for p in experiments.LINEAR_ALGEBRA.points}
names = results.variants
rows = []
for task, size in points.items():
    times = [results.only(name, task=task).time.short for name in names]
    rows.append((task, f"{size:,}", *times))

Table("Time of each task in float64", ("task", "rows", *names), rows)

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
# The libraries were farthest apart for the task :measured:`most_apart`, by a factor of
# :measured:`factor_apart`, and closest for :measured:`least_apart`. Not every task is the same work for
# each library: to generate random numbers, each has an algorithm of its own. The product, however,
# takes the same arithmetic in all of them. Is JAX ahead there?
from jaxcap.report.claims import claim, speedup_of

product_is_faster = claim(
    "JAX multiplies large matrices in float64 faster than NumPy",
    results,
    speedup_of("JAX", over="NumPy", task="product"),
)
product_is_faster

# %%
# Whichever is ahead, both may be slow. How much faster could a product be?
#
# The device sets a limit
# -----------------------
# A device has two limits: how many operations it can do in a second, and how many bytes it can
# fetch from memory. Data sheets state both, but your machine may not sustain what they promise. So we
# measure them: the first with large products, the second with large copies and sums.
from jaxcap.experiments.ceilings import CEILINGS
from jaxcap.results.ceilings import Ceilings

limits = CEILINGS.run(budget_s=0.05)
ceilings = {}
for result in limits:
    device = result.device
    ceilings[device] = Ceilings.from_results(limits, device)

for device, limit in ceilings.items():
    rate = limit.flops_per_s["float64"]
    print(device, f"{limit.bytes_per_s / 1e9:.0f} GB/s", end=", ")
    print(f"{rate / 1e9:.0f} GFLOP/s in float64")

# %%
# Each of the n² elements of a product takes n multiplications and almost as many additions, so the
# whole product takes about 2n³ operations. Divide that by the rate of arithmetic, and you have the
# time that a product takes at this rate. What share of the measured time is that?
product = results.only("JAX", task="product")
n = points["product"]
least_s = 2 * n**3 / ceilings[product.device].flops_per_s["float64"]

print(f"at least {1e3 * least_s:.1f} ms")
print(f"measured {1e3 * product.time.value:.1f} ms")
print(f"share    {least_s / product.time.value:.2f}")

# %%
# A share near 1 says that the product is as good as the best that we measured. A library that we
# didn't try may still do better.
#
# What about the other tasks? A *roofline* plot shows the share of each task with floating-point
# arithmetic. The roof is the highest rate that the two limits allow: under its slope, memory sets the
# limit, and under its flat part, arithmetic does. Each percentage is the highest share that a library
# reached:
results_and_costs = [
    (result, experiments.least_cost(**result.parameters))
    for result in results
]

# %%
from jaxcap.report import figures

_ = figures.roofline(
    ceilings[product.device],
    results_and_costs,
    title=f"What float64 reaches on {product.device}",
    name=lambda result: result.parameters["task"],
    dtype=lambda _: "float64",
)

# sphinx_gallery_thumbnail_number = 1

# %%
# A low share doesn't promise that anybody can do better. The roof counts operations and bytes alone, so
# where one step of a task has to wait for another, no program may come near it.
#
# A limit exposes a wrong time
# ----------------------------
# The program on which this page is modelled stopped JAX's clock when the call returned. But JAX's
# calls may return :doc:`before the result is ready
# </tutorials/transformations/asynchronous_dispatch>`. What share of the limit would the product
# reach by that clock?
print(f"without waiting: {least_s / product.dispatch.value:.3g}")
print(f"with waiting:    {least_s / product.time.value:.2f}")

# %%
# A share slightly above 1 can happen, because the limit was measured, too. But if a product's share
# is far above 1, something is wrong: the clock, the count of operations, or the number of bits.
#
# Takeaway
# --------
from jaxcap.report.roofline import roofline_fraction

against_numpy = product_is_faster.estimate
reached = roofline_fraction(
    product,
    ceilings[product.device],
    dtype="float64",
    cost=experiments.least_cost(**product.parameters),
)

# %%
# Judge a time by the best that you can measure on the same device. On this page's machine, JAX's
# product in float64 was :measured:`against_numpy than NumPy's`, and reached :measured:`reached` of the
# best product that we measured. If a product's share is far above 1, suspect the clock.
#
# :func:`~jaxcap.experiments.ceilings.measure_ceilings` measures the limits of your device, and
# :func:`~jaxcap.report.roofline.roofline_fraction` compares your times with them. Next: :doc:`will
# it fit into memory? </tutorials/performance/memory>`
