"""
Has JAX become faster?
======================

Take a program, time it under an old release and under today's, and compare: two numbers, and one of
them is larger. Was it JAX, or was it chance? After this page you will know how much a release differs
from *itself*, why whoever looks at many numbers finds changes that never happened, and what did
change.
"""

# %%
# Two numbers
# -----------
# Measuring dozens of releases takes hours, so this page doesn't do it. It reads what was recorded
# before: small programs, each run by fresh processes of every release that could be installed. All
# of that happened on one machine, and the releases took turns.
from jaxcap.releases.recorded import recorded

releases = recorded()
machine = releases.sets[releases.newest].environment
print(
    len(releases.of_jax()),
    "benchmarks under",
    len(releases.names),
    "releases",
)
print("on", machine.device, "in", f"{machine.measured_at:%B %Y}")

# %%
# Begin with the oldest and the newest, and a handful of programs. Before you read the table, guess:
# which of them take less time today?
from jaxcap.results.tables import Table

by_name = {series.benchmark: series for series in releases.of_jax()}
oldest, newest = releases.names[0], releases.newest
chosen = [
    "compiled call with one array",
    "sort of 10,000 numbers",
    "product of 500 × 500 matrices",
    "gradient of a small network",
    "scan of 1,000 steps of a random walk",
]
columns = [by_name[name].estimates for name in chosen]
rows = [
    (name, times[oldest].short, times[newest].short)
    for name, times in zip(chosen, columns)
]
Table("The same programs", ("program", oldest, newest), rows)

# %%
# Every row has a larger and a smaller number. To know which rows mean something, we first have to
# know what two numbers look like that differ by chance alone.
#
# A release beside itself
# -----------------------
# There is a way to see it. The newest release was installed a second time, and this twin was measured
# like any other release. Between the two there is nothing to find, so whatever differs is noise. Here is
# how many times as long each program took under the twin:
import matplotlib.pyplot as plt
import numpy as np

from jaxcap.report import figures

twins = releases.without_cause
ratios = np.sort([comparison.ratio for comparison in twins])
off_by_tenth = int(np.sum((ratios > 1.1) | (ratios < 1 / 1.1)))

# %%
figure, axes = plt.subplots(figsize=(7, 3))
axes.axhspan(1 / 1.1, 1.1, color=figures.GRID, alpha=0.3, label="within 10 %")
axes.plot(ratios, ".", color=figures.COLOURS[0])
axes.axhline(1, color=figures.INK, linewidth=0.8)
axes.set_yscale("log")
axes.set_yticks([0.5, 0.7, 1, 1.4, 2], ["0.5", "0.7", "1", "1.4", "2"])
axes.minorticks_off()
axes.set_xlabel("programs, in the order of their ratios")
axes.set_ylabel("twin over original")
axes.set_title(f"{off_by_tenth} of {len(ratios)} differ by more than 10 %")
_ = axes.legend(loc="upper left")

# %%
# Whoever calls any difference of ten per cent a regression would have to report those, of a release
# compared with itself. The two ends of the curve would make the most convincing reports.
#
# A test
# ------
# So a difference has to be judged by how much the processes of *one* release differ. Each process gives
# one number, its median time. Welch's test asks how often two groups of numbers would come out as
# far apart as these if nothing distinguished them. That share is the *p-value*:
from scipy.stats import ttest_ind


def p_value(before, after):
    """How often chance alone would set two groups of times so far apart."""
    return ttest_ind(np.log(before), np.log(after), equal_var=False).pvalue


walk = by_name[chosen[-1]].estimates
print(
    f"{chosen[-1]}: p = {p_value(walk[oldest].medians, walk[newest].medians):.2g}"
)

# %%
# The logarithms are there because noise multiplies: a busy machine makes a program twice as slow, and not
# a second slower.
#
# Does the test keep its promise? Where there is no difference, a p-value of at most 0.05 should
# come up in five cases of a hundred. The twin gives a hundred cases. Here is how to get thousands: take
# the processes of a single release, and deal them into two groups at random.
rng = np.random.default_rng(0)
by_chance = []
for series in by_name.values():
    for estimate in series.estimates.values():
        if len(estimate.medians) >= 4 and not series.is_exact:
            half = len(estimate.medians) // 2
            dealt = rng.permutation(estimate.medians)
            by_chance.append(p_value(dealt[:half], dealt[half:]))
alarms = int(np.sum(np.array(by_chance) <= 0.05))
share = f"{alarms / max(len(by_chance), 1):.1%}"
print(f"{alarms} false alarms in {len(by_chance):,} comparisons, {share}")

# %%
# The test does about what it says. That is the trouble: one comparison in twenty is a false alarm, and
# each new release brings as many comparisons as there are benchmarks.
#
# Many looks
# ----------
# Now compare each release with the one before it, in every program. Some of these pairs differ, most
# don't, and the p-values tell us how many of each there are. Those of equal pairs are spread evenly
# between 0 and 1, because that is what the test's promise amounts to. Those of unequal pairs
# crowd near 0.
steps = [step for step in releases.steps if not step.series.is_exact]
observed = [step.p for step in steps]

figure, axes = plt.subplots(figsize=(7, 3))
bins = np.linspace(0, 1, 21)
for values, label, colour in (
    (by_chance, "dealt at random", figures.COLOURS[0]),
    (observed, "one release and the next", figures.COLOURS[1]),
):
    weights = np.full(len(values), 100 / max(len(values), 1))
    axes.hist(
        values,
        bins,
        weights=weights,
        histtype="step",
        color=colour,
        label=label,
    )
axes.set(xlabel="p-value", ylabel="% of the comparisons", xlim=(0, 1))
axes.set_title("What stands out of the even part is real")
_ = axes.legend()

# %%
# The even part reaches below 0.05 as well. So a list of all pairs with a p-value below 0.05 has the real
# changes on it, and about a twentieth of all others. Benjamini and Hochberg's correction looks at all
# p-values together and asks for a smaller one, the more of them there are, such that of what is left
# on the list at most a share, here 5 %, should be by chance:
from scipy.stats import false_discovery_control

p_values = np.nan_to_num(observed, nan=1.0)
corrected = false_discovery_control(p_values)
print(f"{len(steps):,} comparisons")
print(f"{np.sum(p_values <= 0.05):,} with a p-value up to 0.05")
print(f"{np.sum(corrected <= 0.05):,} after the correction")

# %%
# The correction is not free. Real changes that are small go with the false ones. What remains undecided is
# not shown to be the same; it takes more processes to tell.
#
# Two speeds under one release
# ----------------------------
# A test that compares averages assumes that a release has one speed. Here is the program whose
# processes agree least, with a dot for each process:
from jaxcap.releases.figures import course


def disagreement(series):
    """How far the processes of a release are apart, in the median of all releases."""
    return np.median([np.ptp(logs) for logs in series.logs.values()])


timed = [series for series in by_name.values() if not series.is_exact]
restless = max(timed, key=disagreement)
_ = course(restless, [], releases.names)

# %%
# Where the dots form two groups, a process is either fast or slow from its start to its end,
# whatever the release: it depends on where its arrays lie in memory, or on which threads meet on a
# core. If all processes of one release happen to be slow ones, and all of the next fast, a test sees a
# change. So for programs like this there is one more condition: the groups must not overlap. Every
# process of one release has to be faster than all of the other.
#
# The luckiest of many
# --------------------
# A list of the *largest* changes has a bias of its own. What comes out on top was not only large, it
# also had luck. The remedy is to measure the top of the list once more, and to believe the second
# number, for which nothing was picked. Each row is a change from one release to the next:
changes = [step for step in releases.changes if not step.series.is_exact]
rows = []
for change in changes[:10]:
    second = releases.second(change)
    rows.append(
        (
            change.series.benchmark,
            change.after,
            change.words,
            second.words if second else "not measured again",
        )
    )
Table(
    "The largest changes from one release to the next",
    ("program", "release", "first recording", "second recording"),
    rows,
)

# %%
# The first of them over all releases:
largest = changes[0].series if changes else timed[0]
_ = course(
    largest,
    [change for change in changes if change.series is largest],
    releases.names,
)

# %%
# So, has it?
# -----------
# Back to the question. Every program, the newest release beside the oldest; left of the line it takes less
# time than then. A grey dot means that the difference is not certain, or less than ten per cent.
pairs = [pair for pair in releases.then_and_now if not pair.series.is_exact]
topics = list(dict.fromkeys(pair.series.topic for pair in pairs))
faster = [pair for pair in pairs if pair.is_change and pair.ratio < 1]
slower = [pair for pair in pairs if pair.is_change and pair.ratio > 1]
colours = {id(pair): figures.COLOURS[0] for pair in faster}
colours |= {id(pair): figures.COLOURS[1] for pair in slower}

# %%
figure, axes = plt.subplots(figsize=(7, 4))
axes.axvline(1, color=figures.INK, linewidth=0.8)
for pair in pairs:
    axes.plot(
        pair.ratio,
        topics.index(pair.series.topic),
        "o",
        color=colours.get(id(pair), figures.GRID),
        markersize=6,
    )
axes.set_yticks(range(len(topics)), topics)
axes.invert_yaxis()
axes.set_xscale("log")
axes.set_xlabel(f"time under {newest}, over time under {oldest}")
axes.set_title(f"{len(faster)} faster, {len(slower)} slower, of {len(pairs)}")
axes.xaxis.set_major_formatter("{x:g}")

# sphinx_gallery_thumbnail_number = 5

# %%
# There is no single answer, and that is the answer: a release is faster for one program and slower for another. To
# know about yours, measure yours. ``jaxcap bisect`` takes a function, two releases between which it
# changed, and finds the release that did it; it installs what it needs, and stops as soon as it is
# certain. ``jaxcap releases record`` repeats the recording of this page on your machine.
#
# Takeaway
# --------
count = f"{len(pairs)} programs"
faster_now, slower_now = f"{len(faster)}", f"{len(slower)}"
false_alarms = f"{int(np.sum([twin.p <= 0.05 for twin in twins]))}"
many = f"{len(steps):,}"

# %%
# Of :measured:`count`, :measured:`faster_now` take less time under the newest release than under the oldest, and
# :measured:`slower_now` take more; about the rest these measurements can't tell. The newest release
# compared with itself would have given :measured:`false_alarms` changes at a p-value of 0.05, so a
# list that is made from :measured:`many` comparisons needs a correction for their number. Before you report
# a regression: measure the same release twice, in several processes each, look for modes, and
# measure what you found once more.
#
# All benchmarks under all releases are on :doc:`/releases/index`, and what counts as a change there is
# explained under :doc:`/releases/noise`. Before this page: :doc:`how far to trust these numbers
# </tutorials/performance/precision>`.
