"""
How fast is linear algebra?
===========================

On large matrices a library can't shine by cleverness, only come close to what the device can do.
After this page you will know how close NumPy, PyTorch and JAX come on your machine, how to check
their answers, and what 32 bits and TF32 trade for speed.
"""

# %%
# Four tasks
# ----------
# Generate a random matrix, take its mean and its sum, multiply it, invert it: in float64, by three
# libraries. Each task is one call in each of them. JAX computes in 64 bits inside
# ``jax.enable_x64(True)``, and PyTorch on the GPU if JAX does.
import numpy as np

from jaxcap.experiments import linear_algebra as experiments
from jaxcap.experiments.linear_algebra import as_numpy, libraries
from jaxcap.kernels import linalg

points = {p["task"]: p["size"] for p in experiments.LINEAR_ALGEBRA.points}
points

# %%
# Right numbers first
# -------------------
# Each library has its own random numbers, so its matrices differ from those of the others. What
# has to agree are their moments. Numbers spread evenly from 0 to 1 have the mean 0.5; a matrix of
# them misses that by chance, and by how much is known:
from jaxcap.results.tables import Table

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
# Beyond three standard deviations one would look for a mistake. Next: is the inverse one? Its product
# with the matrix has to be the identity. All libraries get the same matrix:
size = points["inverse"]
matrix = np.random.default_rng(0).random((size, size))
offsets = {}
for library in libraries():
    x = library.array(matrix)
    identity = library.tasks["product"](x, library.tasks["inverse"](x))
    offsets[library.name] = linalg.offsets_from_identity(as_numpy(identity))

# %%
Table(
    "Distance of the product from the identity",
    ("library", "largest", "mean", "largest / mean"),
    [
        (k, f"{o.max():.1e}", f"{o.mean():.1e}", f"{o.max() / o.mean():.0f}")
        for k, o in offsets.items()
    ],
)

# %%
# Look at the last column. The program that gave rise to this page printed "maximum absolute offset
# from identity" for three libraries, and had taken the mean for one of them: JAX. Its inverse looked
# that much better than it was.
flattered = float(offsets["JAX"].max() / offsets["JAX"].mean())

# %%
# How long it takes
# -----------------
results = experiments.LINEAR_ALGEBRA.run(budget_s=0.03)
results

# %%
from jaxcap.report.claims import claim, speedup_of

product_is_faster = claim(
    "JAX multiplies large matrices in float64 faster than NumPy",
    results,
    speedup_of("JAX", over="NumPy", task="product"),
)
product_is_faster

# %%
one_sum_pays = claim(
    "JAX takes the mean and the sum of a large matrix faster than NumPy",
    results,
    speedup_of("JAX", over="NumPy", task="mean and sum"),
)
one_sum_pays

# %%
# How close to the limit
# ----------------------
# Milliseconds say little. How many would the device need at least? It has two limits: how many
# operations it does in a second, and how many bytes it gets from memory meanwhile. Measure both
# with what should reach them: a large product, and a large copy or sum.
from jaxcap.experiments.ceilings import CEILINGS
from jaxcap.report.roofline import roofline_fraction
from jaxcap.results.ceilings import Ceilings

limits = CEILINGS.run(budget_s=0.05)
devices = dict.fromkeys(result.device for result in limits)
ceilings = {
    device: Ceilings.from_results(limits, device) for device in devices
}
for device, limit in ceilings.items():
    rates = ", ".join(
        f"{rate / 1e9:.0f} GFLOP/s in {dtype}"
        for dtype, rate in limit.flops_per_s.items()
    )
    print(f"{device}\n{rates}, {limit.bytes_per_s / 1e9:.0f} GB/s")

# %%
# A task takes at least the time of its operations at the first rate, or of its bytes at the second,
# whichever is longer. The product of two matrices of ``n`` rows is ``2 * n**3`` operations, an inverse
# as many, a sum one pass over the matrix. The share of that limit:


def share_of_limit(result):
    """Least time that the task needs on its device, over the time taken."""
    return roofline_fraction(
        result,
        ceilings[result.device],
        dtype="float64",
        cost=experiments.least_cost(**result.parameters),
    )


# %%
names = results.variants
rows = []
for task in points:
    shares = [share_of_limit(results.only(n, task=task)) for n in names]
    rows.append((task, *(one.short for one in shares)))

Table("Share of what the device can do", ("task", *names), rows)

# %%
# A large product should be close to the limit, since the limit is one; if it is not, the limit was
# measured at a better size or in a better moment. Mean and sum are two passes
# over memory for NumPy and PyTorch; compiled by JAX they are one, because the mean is the sum over the
# count, and XLA computes the sum once. Random numbers cost
# arithmetic on integers, which this limit does not count. A share above 1 means that the ceiling
# was measured on a worse moment or with a worse library, or that the data lay in a cache.
#
# The same as a picture, known as a *roofline*: the sloping part is memory, the flat part
# arithmetic.
from jaxcap.report import roofline

product = results.only("JAX", task="product")
device = product.device
results_and_costs = [
    (result, experiments.least_cost(**result.parameters))
    for result in results
]
_ = roofline.figure(
    ceilings[device],
    results_and_costs,
    title=f"What float64 reaches on {device}",
)

# sphinx_gallery_thumbnail_number = 1

# %%
# A limit exposes a wrong time
# ----------------------------
# Stop the clock when JAX's call returns, before the result is there. That was how the speeds on
# which this page is modelled were taken. What share of the limit would that be?
least_s = ceilings[device].least_time_s(
    experiments.least_cost(**product.parameters), "float64"
)
shown = float(least_s / product.dispatch.value)
print(f"{shown:.3g} of the limit without waiting")
print(f"{share_of_limit(product).short} of the limit with waiting")

# %%
# What is well above 1 can't be. Whenever you read a time for a product, count its operations.
#
# 32 bits, and fewer
# ------------------
# A product in float32 needs half the memory, and half the time on most CPUs. On GPUs the gap may be
# much larger, and there is a third format: TF32 has the range of float32 and keeps 10 bits of its
# 23-bit fraction. NVIDIA's tensor cores multiply it much faster. JAX decides by a setting, which a
# call takes as ``precision``, and :func:`jax.default_matmul_precision` sets for a block or a
# program. Its default leans to speed.
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

size = points["product"]
matrix = np.random.default_rng(0).random((size, size))
truth = matrix @ matrix
x = jnp.asarray(matrix, jnp.float32)


# %%
# How far are three settings from NumPy's product in 64 bits?
def error(found):
    """Largest error, relative to the largest element."""
    found = np.asarray(found, np.float64)
    return float(abs(found - truth).max() / truth.max())


settings = ("highest", "high", "default")
errors = {
    f"float32, {setting}": error(jnp.matmul(x, x, precision=setting))
    for setting in settings
}
if len(set(errors.values())) == 1:
    print("Here the three settings are one: precision changes nothing.")
else:
    print("Here the setting matters: compare the errors with the rounded.")

# %%
# On a CPU expect no difference. On a GPU with tensor cores expect the default to have TF32's error.
# TF32 can be had on any machine, if only slowly: round what goes in to 10 bits, then multiply in
# float32. The format bfloat16 keeps 7. These say what error to expect where the hardware does it:
for name, bits in ("TF32", 10), ("bfloat16", 7):
    rounded = jax.lax.reduce_precision(x, exponent_bits=8, mantissa_bits=bits)
    errors[f"rounded to {name}"] = error(
        jnp.matmul(rounded, rounded, precision="highest")
    )

in_jax = libraries()[-1]
x64 = in_jax.array(matrix)
errors["float64"] = error(in_jax.tasks["product"](x64, x64))

# %%
plt.barh(list(errors), list(errors.values()), log=True)
plt.gca().invert_yaxis()
plt.xlabel("largest error, relative to the largest element")
_ = plt.title("What a format costs in accuracy")

# %%
# And what does a format gain? The products among the limits above were made in several formats, by
# NumPy and by JAX:
formats = limits.select(
    variant="JAX", limit="product", device=device.platform
)
rates = {}
for result in formats:
    operations = linalg.product_flops(*[result.parameters["size"]] * 3)
    rates[result.parameters["dtype"]] = result.time.rate(
        operations / 1e9, "GFLOP"
    )

rows = [(dtype, rate.short, rate.range) for dtype, rate in rates.items()]
headers = ("format", "speed", rates["float32"].interval_name)
Table(f"Products by JAX on {device}", headers, rows)

# %%
# An inverse in float32 suffers more than a product, since it multiplies rounding errors by the
# condition number of the matrix:
with jax.default_matmul_precision("highest"):
    identity = linalg.product(x, jnp.linalg.inv(x))
inverse_32 = float(linalg.offsets_from_identity(as_numpy(identity)).max())
inverse_64 = float(offsets["JAX"].max())
print(f"float32 {inverse_32:.1e}, float64 {inverse_64:.1e}")

# %%
# Takeaway
# --------
against_numpy = product_is_faster.estimate
reached = share_of_limit(product)
rate_32, rate_64 = rates["float32"], rates["float64"]
tf32_error = errors["rounded to TF32"] / errors["float32, highest"]

# %%
# Compared with NumPy, JAX's product in float64 came out :measured:`against_numpy` on this page's
# machine, and it reached :measured:`reached` of the limit. JAX's products of the largest matrices ran
# at :measured:`rate_64` in float64, and at :measured:`rate_32` in float32. TF32, where there is such hardware, multiplies the
# error of float32 by :measured:`tf32_error`. Check a result by a property that it must have, and take the largest
# deviation: the mean looked :measured:`flattered` times better. Check a time by the limit of the
# device.
#
# More on the setting is in
# `JAX's page on precision <https://docs.jax.dev/en/latest/201/precision.html>`_. The tools are
# :func:`jaxcap.experiments.ceilings.measure_ceilings` and :func:`jaxcap.report.roofline.roofline_fraction`. Before this page:
# :doc:`dispatch overhead </tutorials/performance/dispatch_overhead>`. After it:
# :doc:`calibrating a sensor </tutorials/applications/calibration>`.
