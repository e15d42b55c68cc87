"""All pages that teach: the order in which to read them, their topics, and what they need.

A new tutorial, exercise or guide is entered in `PAGES`, a tutorial in `PREREQUISITES` too, and none
of them anywhere else in the extension.
"""

from __future__ import annotations

import re
from collections import Counter
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

from sphinx_gallery.py_source_parser import split_code_and_text_blocks

# In reading order, each page with its topics.
PAGES = {
    "tutorials/basics/introduction": ("Arrays and NumPy", "Compilation", "Gradients"),
    "tutorials/basics/jnp_and_numpy": ("Arrays and NumPy", "Precision"),
    "exercises/1_arrays": ("Arrays and NumPy",),
    "tutorials/basics/random_numbers": ("Random numbers",),
    "tutorials/basics/generators": ("Compilation", "Random numbers"),
    "exercises/2_random_numbers": ("Random numbers",),
    "tutorials/transformations/jit": ("Compilation",),
    "tutorials/transformations/asynchronous_dispatch": ("Dispatch", "Timing"),
    "exercises/3_jit": ("Compilation", "Timing"),
    "tutorials/transformations/static_arguments": ("Compilation",),
    "exercises/4_static_arguments": ("Compilation",),
    "tutorials/transformations/grad": ("Gradients",),
    "exercises/5_gradient": ("Gradients",),
    "tutorials/transformations/vmap": ("Batches",),
    "tutorials/transformations/example_gradients": ("Batches", "Gradients"),
    "exercises/6_vmap": ("Batches", "Gradients"),
    "tutorials/transformations/many_gradients": ("Batches", "Gradients", "PyTorch"),
    "tutorials/transformations/loops": ("Compilation", "Gradients"),
    "tutorials/transformations/mapped_loops": ("Batches",),
    "exercises/7_loops": ("Batches", "Compilation", "Gradients"),
    "tutorials/transformations/updates": ("Arrays and NumPy", "Compilation", "Memory"),
    "tutorials/transformations/indexing": ("Arrays and NumPy", "PyTorch"),
    "exercises/8_updates": ("Arrays and NumPy", "Compilation", "Memory"),
    "tutorials/transformations/pytrees": ("Compilation", "Dispatch", "Training"),
    "exercises/9_pytrees": ("Compilation", "Training"),
    "tutorials/transformations/modules": ("Dispatch", "Training"),
    "tutorials/transformations/typed_transformations": ("Types",),
    "tutorials/performance/timing": ("Timing",),
    "tutorials/performance/precision": ("Timing",),
    "tutorials/performance/bits": ("Precision", "Training"),
    "exercises/10_bits": ("Precision",),
    "tutorials/performance/dispatch_overhead": ("Compilation", "Dispatch"),
    "tutorials/performance/second_process": ("Compilation", "Start-up"),
    "tutorials/performance/threads": ("Compilation", "Threads"),
    "exercises/11_second_process": ("Compilation", "Start-up"),
    "tutorials/performance/geometry": ("Arrays and NumPy", "Dispatch", "Gradients"),
    "tutorials/performance/linear_algebra": ("Arrays and NumPy", "PyTorch", "Timing"),
    "tutorials/performance/memory": ("Gradients", "Memory"),
    "exercises/12_memory": ("Memory",),
    "tutorials/performance/profiling": ("Compilation", "Debugging"),
    "tutorials/performance/faults": ("Debugging", "Gradients"),
    "exercises/13_faults": ("Compilation", "Debugging", "Gradients"),
    "tutorials/performance/releases": ("Timing",),
    "tutorials/applications/calibration": ("Dispatch", "Gradients", "Training"),
    "tutorials/applications/convergence": ("Batches", "Precision", "Training"),
    "tutorials/applications/attenuation": ("Training",),
    "tutorials/applications/mnist": ("PyTorch", "Training"),
    "tutorials/applications/training_speed": ("Compilation", "PyTorch", "Training"),
    "tutorials/applications/convolutions": ("Compilation", "Gradients", "Training"),
    "tutorials/applications/winograd": ("Precision", "Training"),
    "tutorials/applications/scaling_out": ("Batches", "Several devices", "Training"),
    "tutorials/applications/sharding": ("Several devices", "Types"),
    "tutorials/applications/messages": ("Several devices",),
    "exercises/14_sharding": ("Several devices",),
    "measuring": ("Timing",),
}
# What each topic is about.
TOPICS = {
    "Arrays and NumPy": "What JAX's arrays share with NumPy's, where they part, and which library suits what.",
    "Batches": "One function for many examples, without a loop in Python.",
    "Compilation": "What is compiled, when it is compiled again, and what that saves and costs.",
    "Debugging": "Tools that look inside a compiled program.",
    "Dispatch": "What a call costs before anything is computed, and when it returns.",
    "Gradients": "How they are computed, how far to trust them, and where they fail.",
    "Memory": "What a program needs, what it copies, and how it can do with less.",
    "Precision": "How many bits to compute in, and what rounding does to results.",
    "PyTorch": "The same work in both libraries, compared fairly.",
    "Random numbers": "Keys in place of a hidden state.",
    "Several devices": "How to split arrays and a training among devices, and what the devices have to send.",
    "Start-up": "What a process pays before its first result, and what can be kept for the next.",
    "Threads": "How many cores a program uses, and how to limit them.",
    "Timing": "How to measure JAX, and how far to trust the numbers.",
    "Training": "From least squares to a network, on one device and on many.",
    "Types": "What a type can say about a function or an array.",
}
# Pages that have moved, by the names that they had: an old address leads to the new one.
MOVED = {
    "tutorials/basics/updates": "tutorials/transformations/updates",
    "exercises/4_jit": "exercises/3_jit",
    "exercises/5_static_arguments": "exercises/4_static_arguments",
    "exercises/3_gradient": "exercises/5_gradient",
    "exercises/14_vmap": "exercises/6_vmap",
    "exercises/6_loops": "exercises/7_loops",
    "exercises/7_updates": "exercises/8_updates",
    "exercises/13_bits": "exercises/10_bits",
    "exercises/10_second_process": "exercises/11_second_process",
    "exercises/8_memory": "exercises/12_memory",
    "exercises/11_faults": "exercises/13_faults",
    "exercises/12_sharding": "exercises/14_sharding",
    "results/experiments/awaiting": "results/experiments/dispatch-chain",
}
# What to read before each tutorial, if it comes in the middle of the way: the last tutorials that it
# builds on, without those that these need themselves.
PREREQUISITES = {
    "basics/introduction": (),
    "basics/jnp_and_numpy": ("basics/introduction",),
    "basics/random_numbers": ("basics/jnp_and_numpy",),
    "basics/generators": ("basics/random_numbers",),
    "transformations/jit": ("basics/introduction",),
    "transformations/asynchronous_dispatch": ("transformations/jit",),
    "transformations/static_arguments": ("transformations/jit",),
    "transformations/grad": ("transformations/jit",),
    "transformations/vmap": ("transformations/grad",),
    "transformations/example_gradients": ("transformations/vmap",),
    "transformations/many_gradients": ("transformations/vmap",),
    "transformations/loops": ("transformations/static_arguments", "transformations/grad"),
    "transformations/mapped_loops": ("transformations/vmap", "transformations/loops"),
    "transformations/updates": ("basics/jnp_and_numpy", "transformations/loops"),
    "transformations/indexing": ("transformations/updates",),
    "transformations/pytrees": ("transformations/static_arguments", "transformations/grad"),
    "transformations/modules": ("transformations/pytrees",),
    "transformations/typed_transformations": ("transformations/vmap",),
    "performance/timing": ("transformations/asynchronous_dispatch",),
    "performance/precision": ("performance/timing",),
    "performance/bits": ("basics/jnp_and_numpy", "transformations/grad", "performance/timing"),
    "performance/dispatch_overhead": ("performance/timing",),
    "performance/second_process": ("transformations/loops", "performance/timing"),
    "performance/threads": ("performance/timing",),
    "performance/geometry": ("transformations/grad", "performance/dispatch_overhead"),
    "performance/linear_algebra": ("basics/jnp_and_numpy", "performance/timing"),
    "performance/memory": ("transformations/updates", "performance/timing"),
    "performance/profiling": ("transformations/grad", "performance/timing"),
    "performance/faults": ("transformations/grad", "performance/timing"),
    "performance/releases": ("performance/precision",),
    "applications/calibration": ("transformations/grad", "performance/dispatch_overhead"),
    "applications/convergence": ("transformations/vmap", "applications/calibration"),
    "applications/attenuation": ("applications/calibration",),
    "applications/mnist": ("transformations/grad",),
    "applications/training_speed": ("transformations/modules", "applications/mnist"),
    "applications/convolutions": ("applications/training_speed",),
    "applications/winograd": ("applications/convolutions",),
    "applications/scaling_out": ("applications/training_speed",),
    "applications/sharding": ("applications/scaling_out",),
    "applications/messages": ("applications/sharding",),
}
# Under what else the index and the search list a tutorial, whose own words may be others.
KEYWORDS = {
    "basics/jnp_and_numpy": ("jax.numpy", "out-of-bounds indexing", "double precision"),
    "basics/random_numbers": ("PRNG", "random seed", "random key"),
    "basics/generators": ("stateful_rng", "frozen noise", "key stream"),
    "transformations/jit": ("just-in-time compilation", "kernel fusion", "XLA", "tracing"),
    "transformations/asynchronous_dispatch": ("block_until_ready", "asynchronous dispatch"),
    "transformations/static_arguments": ("static_argnums", "static_argnames", "recompilation"),
    "transformations/grad": ("automatic differentiation", "autograd", "value_and_grad"),
    "transformations/vmap": ("batching", "vectorisation", "in_axes"),
    "transformations/example_gradients": ("per-example gradients", "clipping", "wrong labels"),
    "transformations/many_gradients": ("fair comparison", "PyTorch", "torch.func"),
    "transformations/loops": (
        "fori_loop",
        "while_loop",
        "lax.scan",
        "associative_scan",
        "control flow",
        "unrolling",
    ),
    "transformations/mapped_loops": ("lax.map", "lax.cond", "ragged batch"),
    "transformations/updates": ("buffer donation", "in-place update", "ref"),
    "transformations/indexing": ("scatter", "gather", "segment_sum", "one-hot"),
    "transformations/pytrees": ("jax.tree.map", "Optax", "nested dicts", "leaves"),
    "transformations/modules": ("NNX", "Flax", "mutable state", "jit_partial"),
    "transformations/typed_transformations": ("type checking", "mypy", "pyright"),
    "performance/timing": ("benchmarking", "timeit", "warm-up"),
    "performance/precision": ("false alarm", "prediction interval", "noise"),
    "performance/bits": ("bfloat16", "loss scaling", "master weights", "mixed precision"),
    "performance/dispatch_overhead": ("dispatch overhead", "overhead of a call", "small arrays"),
    "performance/second_process": ("compilation cache", "jax.export", "import"),
    "performance/threads": ("XLA_FLAGS", "compiler_options", "taskset", "CPU cores"),
    "performance/linear_algebra": ("matrix product", "roofline"),
    "performance/memory": ("out of memory", "rematerialisation", "memory_analysis"),
    "performance/profiling": ("profiler", "Perfetto", "named_scope", "explain_cache_misses"),
    "performance/faults": ("debugging", "NaN", "jax.debug.print", "debug_nans", "checkify"),
    "performance/releases": ("performance regression", "release"),
    "applications/calibration": ("optimisation", "least squares"),
    "applications/attenuation": ("Deming regression", "errors in variables"),
    "applications/mnist": ("neural network", "Flax", "training"),
    "applications/training_speed": ("Amdahl's law", "bottleneck"),
    "applications/convolutions": ("im2col", "convolution", "slow gradient", "dim_labels"),
    "applications/winograd": ("Winograd's algorithm", "fewer multiplications", "rounding errors"),
    "applications/scaling_out": ("sharding", "data parallelism", "mesh"),
    "applications/sharding": ("shard_map", "psum", "tensor parallelism", "FSDP", "AbstractMesh"),
    "applications/messages": ("all-reduce", "all-gather", "reduce-scatter", "collectives"),
}
# These are shown without being run where PyTorch isn't installed.
NEED_TORCH = (
    "many_gradients",
    "mnist",
    "training_speed",
    "convolutions",
    "winograd",
    "scaling_out",
)

GALLERY = Path(__file__).parents[3] / "gallery"  # the scripts that become tutorials
TUTORIALS_FOLDER = "tutorials/"
TUTORIALS = tuple(
    page.removeprefix(TUTORIALS_FOLDER) for page in PAGES if page.startswith(TUTORIALS_FOLDER)
)
# The tutorials to read if you read no others: as many as this build on each, directly or not.
CORE_DEPENDENTS = 8
EXERCISES_FOLDER = "exercises/"
EXERCISES = tuple(page for page in PAGES if page.startswith(EXERCISES_FOLDER))
COMMANDS_PAGE = "command_line"
SOLUTION = "Solution"  # the heading of sections that give a question's answer
SECTIONS = tuple(dict.fromkeys(page.partition("/")[0] for page in TUTORIALS))


def core() -> tuple[str, ...]:
    """Return the tutorials that teach what many others build on, in reading order."""
    needs: dict[str, set[str]] = {}
    for page in TUTORIALS:  # in reading order, so after all that it needs
        direct = PREREQUISITES[page]
        needs[page] = set(direct).union(*(needs[needed] for needed in direct))
    dependents = Counter(chain.from_iterable(needs.values()))
    return tuple(page for page in TUTORIALS if dependents[page] >= CORE_DEPENDENTS)


def tutorial_of(script: str) -> str:
    """Return the name of the tutorial that a script becomes, such as ``"basics/introduction"``."""
    return next(name for name in TUTORIALS if name.endswith(f"/{Path(script).stem}"))


def reading_position(script: str) -> int:
    """Return the position of a tutorial's script in reading order, to sort by."""
    return TUTORIALS.index(tutorial_of(script))


def reading_minutes(script: Path) -> int:
    """Return how long it takes to read a tutorial, in minutes.

    Adults read 238 words of plain prose a minute (Brysbaert 2019), and here about 200. A line of code
    takes as long as five words: lines are longer than that, but about half of them are folded away.
    """
    _, blocks = split_code_and_text_blocks(str(script))
    words = sum(len(text.split()) for kind, text, _ in blocks if kind == "text")
    lines = sum(
        bool(line.strip())
        for kind, text, _ in blocks
        if kind == "code"
        for line in text.splitlines()
    )
    return max(1, round((words + 5 * lines) / 200))


def lacks_torch(script: str) -> bool:
    """Whether a script cannot run because PyTorch is not installed."""
    return Path(script).stem in NEED_TORCH and find_spec("torch") is None


def runnable(pattern: str) -> str:
    """Return the pattern of absolute paths by which sphinx-gallery chooses the scripts to run.

    It matches the scripts that can run and whose path below ``gallery/`` matches ``pattern``,
    whatever the folders above are called.
    """
    below_gallery = r"[\\/]gallery[\\/](?=[^\\/]+[\\/][^\\/]+\.py$)"
    left_out = "|".join(filter(lacks_torch, NEED_TORCH))
    without = rf"(?!.*\b({left_out})\.py$)" if left_out else ""
    return rf"{below_gallery}{without}.*({pattern})"


def is_chosen(name: str, filename_pattern: str) -> bool:
    """Whether a page other than a tutorial runs in a build with this pattern of sphinx-gallery's."""
    return bool(re.search(filename_pattern, f"/gallery/{name}/{name}.py"))
