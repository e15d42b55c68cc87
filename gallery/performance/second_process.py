"""
What does a program pay before its first result?
================================================

You change a line, run the script again, and wait. Python starts, JAX is imported, and what the last
run compiled is compiled once more. This page takes that wait apart, stage by stage, and finds out how
much of it a second process can skip if the first has saved its compiled program.
"""

# %%
# Seven stages to the first result
# --------------------------------
# Our program is the gradient of a small network. To get it, JAX starts its *backend*, which finds the
# devices. Then it *traces* the function, which records its operations, and *lowers* this record to a
# text in StableHLO, the language that its compiler reads. The text is *compiled*, and at last the
# program *runs*. A call of ``gradient`` would do all of this at once. Here is each step by itself:
import jax

from jaxcap.kernels import network
from jaxcap.measure import start_up

example = network.example(start_up.LAYERS)
gradient = jax.jit(jax.grad(network.loss))
traced = gradient.trace(*example)
lowered = traced.lower()
program = lowered.compile()
print(f"{len(lowered.as_text().splitlines())} lines of StableHLO")
print(f"{len(program(*example))} gradients, one for each layer")

# %%
# A fresh process takes the same steps, after it has started Python and imported JAX, and reads the clock
# after each. Which stage takes the longest? Guess before you look:
import time

from jaxcap.measure import fresh

stages = fresh.call(start_up.first_result, time.time())
for stage, seconds in stages.items():
    share = round(40 * seconds / sum(stages.values()))
    print(f"{stage:8}{1000 * seconds:6.0f} ms  {'▪' * share}")

# %%
# The next run of the script pays for all of this again, unless the first has saved its compiled
# program: in a cache, where JAX finds it by itself, or in a file that you name.
#
# The cache on disk ignores what compiles quickly
# -----------------------------------------------
# A `persistent cache <https://docs.jax.dev/en/latest/persistent_compilation_cache.html>`__ is a folder in
# which JAX keeps compiled programs for other processes. Two processes run our program with such a
# folder, the second with one more setting. How many programs will be in it after each?
import tempfile
from pathlib import Path

folder = Path(tempfile.mkdtemp())
cache = {"JAX_COMPILATION_CACHE_DIR": str(folder)}
keep_all = {**cache, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
kept = []
for settings in (cache, keep_all):
    fresh.call(start_up.first_result, time.time(), **settings)
    kept.append(len(list(folder.glob("*-cache"))))
    print("programs in the cache:", kept[-1])

# %%
# By default, the cache ignores programs that take less than this many seconds to compile:
jax.config.jax_persistent_cache_min_compile_time_secs

# %%
# Compiling our gradient took :measured:`less_or_more` time, so the first process saved
# :measured:`what_was_saved`. The second process had a threshold of 0. In your own script, make both
# settings before anything is compiled::
#
#     jax.config.update("jax_compilation_cache_dir", "folder/of/your/choice")
#     jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
#
# A file needs no tracing
# -----------------------
# Instead, you can write the compiled program to a file yourself. JAX has `an experimental module
# <https://docs.jax.dev/en/latest/jax.experimental.serialize_executable.html>`__ for that:
import pickle

from jax.experimental.serialize_executable import serialize

file = folder / "gradient"
size = file.write_bytes(pickle.dumps(serialize(program)))
print(f"{size:,} bytes")

# %%
# A later process can load the program and call it without tracing the function. Does it compute the
# same gradient as ``jit``?
import numpy as np
from jax.experimental.serialize_executable import deserialize_and_load

loaded_program = deserialize_and_load(
    *pickle.loads(file.read_bytes()), execution_devices=jax.devices()[:1]
)
pairs = zip(loaded_program(*example), gradient(*example))
print(f"off by {max(np.abs(a - b).max() for a, b in pairs):.1e}")

# %%
# Loading a program `may run any code
# <https://docs.jax.dev/en/latest/_autosummary/jax.experimental.serialize_executable.deserialize_and_load.html>`__
# that somebody has put there, so load no file from people whom you don't trust, and share no cache with
# them.
#
# What the cache and the file save
# --------------------------------
# Compare three starts. The first finds nothing saved, the second finds its program in the cache, and
# the third loads it from the file, which counts as the stage ``compile``. Which stages will get
# shorter, and how much of the wait will be left? Several processes of each kind start in random order:
without_cache = {"JAX_ENABLE_COMPILATION_CACHE": "0"}
ways = {
    "nothing saved": (None, without_cache),
    "in the cache": (None, keep_all),
    "in a file": (str(file), without_cache),
}

# %%
import random

starts = {name: [] for name in ways}
for _ in fresh.rounds(3):
    for name in random.sample(list(ways), k=len(ways)):
        saved, settings = ways[name]
        stages = fresh.call(
            start_up.first_result, time.time(), saved, **settings
        )
        starts[name].append(stages)

# %%
import matplotlib.pyplot as plt

from jaxcap.report import figures

figure, axes = plt.subplots(figsize=(6, 3.4))
wholes = []
for row, (name, processes) in enumerate(starts.items()):
    left = 0
    for stage, colour in zip(start_up.STAGES, figures.COLOURS):
        median = np.median([stages[stage] for stages in processes])
        label = stage if row == 0 else None
        axes.barh(row, median, 0.6, left, color=colour, label=label)
        left += median
    totals = [sum(stages.values()) for stages in processes]
    wholes.append(f"{name} {np.median(totals):.1f} s")
    axes.plot(totals, [row] * len(totals), "o", color=figures.INK, ms=4)
axes.set_yticks(range(len(starts)), list(starts))
axes.invert_yaxis()
axes.set(xlabel="seconds since the start (lower is better)")
finding = f"To the first result: {', '.join(wholes)}"
figures.headline(figure, finding, "Medians by stage, a dot for each process")
_ = figure.legend(loc="outside lower center", ncols=3)

# sphinx_gallery_thumbnail_number = 1


# %%
def median_ms(stage, way):
    """Return the median time of a stage, in milliseconds."""
    seconds = [stages[stage] for stages in starts[way]]
    return f"{1000 * np.median(seconds):.0f} ms"


imported = median_ms("import", "nothing saved")
compiled = median_ms("compile", "nothing saved")
compiled_from_cache = median_ms("compile", "in the cache")
less_or_more = "more" if kept[0] else "less"
what_was_saved = "its program" if kept[0] else "nothing"

# %%
# The cache can save ``compile``: that stage took :measured:`compiled` without a cache, and
# :measured:`compiled_from_cache` with one. JAX looks a program up `by its text
# <https://github.com/jax-ml/jax/blob/main/jax/_src/cache_key.py>`__, so it has to trace and lower the
# function first. The compiler's release, the kind of device and the options count, too: if one of them
# changes, JAX compiles again. If ``compile`` isn't any shorter on your machine, XLA may have refused the
# saved program, as it does on `some Intel CPUs <https://github.com/jax-ml/jax/issues/38445>`__.
#
# The file saves ``trace`` and ``lower`` as well, but it asks more of you. Nothing notices when the
# function changes, so you have to remember to save its program again. And another `version of XLA
# <https://github.com/openxla/xla/blob/main/xla/pjrt/pjrt_client.h>`__ may not be able to load it. What
# :func:`jax.export.export` saves can be read by releases of `the next six months
# <https://docs.jax.dev/en/latest/501/export.html#compatibility-guarantees>`__, but it still has to be
# compiled.
#
# Neither way saves the import, because JAX itself has to look into the cache or load the file. Would
# another release of JAX start faster? Here is the import with a first result, under many releases, on one
# machine:
from jaxcap.releases import figures as by_release
from jaxcap.releases.recorded import recorded

_ = by_release.course_of(recorded(), "import of JAX, and a first result")

# %%
# The title names a change only if it stands out from the scatter. :doc:`Start-up by release
# </releases/topics/start-up>` shows the import alone, too.
#
# Takeaway
# --------
from jaxcap.results.statistics import Estimate, Speedup

nothing, in_cache, in_file = (
    np.array([[sum(stages.values())] for stages in each])
    for each in starts.values()
)
first_result = Estimate.from_runs(nothing, unit="s")
cached = Speedup.from_runs(nothing / in_cache)
loaded = Speedup.from_runs(nothing / in_file)

# %%
# With nothing saved, a process took :measured:`first_result` to its first result,
# :measured:`imported` of that for the import, which neither a cache nor a file saves. A cache on disk
# can save compiling, which took :measured:`compiled` without it and :measured:`compiled_from_cache`
# with it. By default, it ignores programs that compile quickly, so set its threshold to 0 if you want to
# keep them. A compiled program in a file saves tracing and lowering as well.
#
# From its start to its first result, a process with the cache was
# :measured:`cached than with nothing saved`, and one with the file was
# :measured:`loaded than with nothing saved`.
#
# Next: :doc:`which limits on threads does JAX obey? </tutorials/performance/threads>` After that page,
# :doc:`exercise 11 </exercises/11_second_process>` is about it and this one.
