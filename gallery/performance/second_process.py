"""
What does a program pay before its first result?
================================================

You change a line, run the script again, and wait. Python starts, JAX is imported, and what the last
run compiled is compiled once more. This page takes that wait apart in fresh processes, and finds
out how much of it a second process can skip if the first one has saved its program.
"""

# %%
# Seven stages to the first result
# --------------------------------
# Our program is the gradient of a small network with eight layers:
from jaxcap.kernels import network
from jaxcap.report.source import Source

Source(network.loss)

# %%
# A fresh process computes this gradient once, and reads the clock after each stage. The first three
# stages end when Python has started, when JAX has been imported, and when JAX has found its
# devices. Then JAX *traces* the gradient, which records its operations. It *lowers* that record to
# StableHLO, the language that its compiler, XLA, reads, and XLA *compiles* it. Last, the program
# *runs*. The stage ``trace`` also draws the weights. A program from a file is neither traced nor
# lowered, but loaded in the stage ``compile``.
from jaxcap.measure import start_up

Source(start_up.first_result)

# %%
# Guess which stage takes the longest, and then look at a single process:
import time

from jaxcap.measure import fresh

stages = fresh.call(start_up.first_result, time.time())
for stage, seconds in stages.items():
    share = round(40 * seconds / sum(stages.values()))
    print(f"{stage:8}{1000 * seconds:6.0f} ms  {'▪' * share}")

# %%
# The next run of the script pays for all these stages again, unless the first one has saved
# something. JAX can save a compiled program in a cache, where it finds the program by itself, or in
# a file that you name.
#
# A cache on disk, with a threshold
# ---------------------------------
# JAX can keep what it compiles in a folder, for other processes to find. You enable that
# `persistent cache <https://docs.jax.dev/en/latest/persistent_compilation_cache.html>`__ by naming
# the folder. Do so before the first compilation, because what was compiled earlier isn't saved.
# Here two processes run the program, the second with one more setting. How many programs will be in
# the folder after each?
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
import jax

jax.config.jax_persistent_cache_min_compile_time_secs

# %%
# Compiling our gradient took :measured:`less_or_more` time, so the first process saved
# :measured:`what_was_saved`. A script may consist of many small programs, and find none of them in
# the cache. So set the threshold to 0, as the second process did. In a script of your own, these
# two lines at the top do it::
#
#     jax.config.update("jax_compilation_cache_dir", "folder/of/your/choice")
#     jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
#
# Processes run what they find in the folder, so share a cache only with people whom you trust. The
# `same warning
# <https://docs.jax.dev/en/latest/_autosummary/jax.experimental.serialize_executable.deserialize_and_load.html>`__
# goes for the file below.
#
# A program in a file
# -------------------
# You can also compile `ahead of time <https://docs.jax.dev/en/latest/201/aot.html>`__, without
# calling the function, and save the compiled program. JAX has `an experimental module
# <https://docs.jax.dev/en/latest/jax.experimental.serialize_executable.html>`__ for that:
import pickle

from jax.experimental.serialize_executable import serialize

example = network.example(start_up.LAYERS)
gradient = jax.jit(jax.grad(network.loss))
program = gradient.lower(*example).compile()
file = folder / "gradient"
size = file.write_bytes(pickle.dumps(serialize(program)))
print(f"{size:,} bytes")

# %%
# A later process loads the program and calls it, without ever seeing the function. It should run
# on the same `platform and version of XLA
# <https://github.com/openxla/xla/blob/main/xla/pjrt/pjrt_client.h>`__, because others may not be
# able to load the file. Does the loaded program compute the same gradient as ``jit``?
import numpy as np
from jax.experimental.serialize_executable import deserialize_and_load

loaded_program = deserialize_and_load(*pickle.loads(file.read_bytes()))
pairs = zip(loaded_program(*example), gradient(*example))
print(f"off by {max(np.abs(a - b).max() for a, b in pairs):.1e}")

# %%
# For other machines and releases, save the function before it is compiled, with
# :func:`jax.export.export`. JAX `promises
# <https://docs.jax.dev/en/latest/501/export.html#compatibility-guarantees>`__ that releases of the
# next six months can read it. If it should run on other kinds of devices than yours, name them in
# ``platforms``:
from jax import export

exported = export.export(gradient, platforms=["cpu", "cuda"])(*example)
print("exported for", *exported.platforms)

# %%
# An exported function needs no tracing or lowering by its user. It still has to be compiled where
# it runs, so we leave it out of the comparison below. Its method ``serialize`` turns it into bytes
# for a file, if the package ``flatbuffers`` is installed.
#
# What each of them saves
# -----------------------
# Now compare three starts. The first finds nothing saved, the second finds its program in the
# cache, and the third loads it from the file. Which stages will get shorter, and how much of
# the wait will be left? We start several processes of each kind, in random order:
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
from jaxcap.results.tables import Table

medians = {}
for stage in start_up.STAGES:
    seconds = [[s[stage] for s in each] for each in starts.values()]
    medians[stage] = [f"{1000 * np.median(some):.0f} ms" for some in seconds]
rows = [(stage, *texts) for stage, texts in medians.items()]
Table("Medians by stage", ("stage", *starts), rows)

# %%
# Compare the stages rather than the whole: as the dots show, whole starts may differ by more than
# one stage saves. The cache can save ``compile``, and nothing else. JAX looks a program up `by its
# text <https://github.com/jax-ml/jax/blob/main/jax/_src/cache_key.py>`__, so it has to trace and
# lower the function first. The cache's key is a hash of that text, and of whatever else shapes the
# machine code: the release of JAX's compiler, the kind of device, and the compiler's flags. If one
# of these changes, the program is compiled again. The file saves ``trace``, ``lower`` and
# ``compile``, but you have to know which program you want, and to save it again when the function
# changes.
#
# If ``compile`` doesn't get shorter on your machine, XLA may have refused the saved program, as it
# does on `some Intel CPUs <https://github.com/jax-ml/jax/issues/38445>`__.
#
# Neither the cache nor the file saves the import, because JAX has to be imported before it can look
# for either. If the import takes most of the time that is left, start fewer processes, and let each
# do more. :doc:`/releases/topics/start-up` shows whether starting has become faster over dozens of
# releases.
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
imported, *_ = medians["import"]
compiled, compiled_from_cache, _ = medians["compile"]
less_or_more = "more" if kept[0] else "less"
what_was_saved = "its program" if kept[0] else "nothing"

# %%
# With nothing saved, a process took :measured:`first_result` to its first result,
# :measured:`imported` of that for the import. A cache on disk saves compiling: that stage took
# :measured:`compiled` without a cache, and :measured:`compiled_from_cache` with the program in it.
# The whole start was :measured:`cached than with nothing saved`. A compiled program in a file saves
# tracing and lowering as well, and the whole start was :measured:`loaded than with nothing saved`.
# Whole starts vary, so a few of them may not show what a stage saves.
#
# Neither saves the import. The longer your program takes to compile, the larger the share of the
# wait that they save. By default, the cache ignores programs that compile quickly, so if yours
# consists of many of these, set its threshold to 0.
#
# Next: :doc:`which settings limit threads, and which save time? </tutorials/performance/threads>`
# After that, :doc:`exercise 11 </exercises/11_second_process>` is about both pages.
