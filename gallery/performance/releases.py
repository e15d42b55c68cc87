"""
Has JAX become faster?
======================

Time a program under an old release and under today's, and one of the two numbers will be larger.
Did JAX change, or did you see noise? This page compares dozens of releases. It finds out how
different a release can look from *itself*, and why a long list of comparisons contains regressions
that never happened. With what survives, the last section answers the question in the title.
"""

# %%
# Two numbers don't answer it
# ---------------------------
# It takes hours to measure dozens of releases, so this page reads an earlier recording. Each of its
# small programs ran in a few fresh processes under every release, and the releases took turns on
# one machine.
from jaxcap.releases.recorded import recorded

releases = recorded()
machine = releases.sets[releases.newest].environment
programs = len(releases.of_jax())
print(f"{programs} programs under {len(releases.names)} releases")
print(f"each in {releases.processes[0]} processes or more")
print(f"on {machine.device}, {machine.measured_at:%B %Y}")

# %%
# Take the oldest release, the newest, and a handful of the programs. Which of them got faster?
# Guess before you look at the table:
from jaxcap.results.tables import Table

by_name = {series.benchmark: series for series in releases.of_jax()}
oldest, newest = releases.names[0], releases.newest
chosen = [
    "compiled call with one array",
    "product of 500 × 500 matrices",
    "gradient of a small network",
    "scan of 1,000 steps of a random walk",
    "sort of 10,000 numbers",
]
chosen = [name for name in chosen if name in by_name]  # one may be missing

# %%
rows = []
for name in chosen:
    times = by_name[name].estimates
    rows.append((name, times[oldest].short, times[newest].short))
Table("The same programs", ("program", oldest, newest), rows)

# %%
# It is tempting to read off an answer for every row. But even two measurements of the *same*
# program under the same release differ. By how much?
#
# A release can differ from itself
# --------------------------------
# We installed the newest release a second time, and measured this twin like any other release. The
# two are identical, so every difference between them is noise. How many times as long did each
# program take under the twin?
import matplotlib.pyplot as plt
import numpy as np

from jaxcap.report import figures

twins = releases.twin_comparisons
ratios = np.sort([comparison.ratio for comparison in twins])
off_by_tenth = int(np.sum((ratios > 1.1) | (ratios < 1 / 1.1)))

# %%
figure, axes = plt.subplots(figsize=(6, 3.2))
axes.axhspan(1 / 1.1, 1.1, color=figures.GRID, alpha=0.3, label="within 10%")
axes.plot(ratios, ".", color=figures.COLOURS[0])
axes.axhline(1, color=figures.INK, linewidth=0.8)
axes.set_yscale("log")
axes.set_yticks([0.5, 0.7, 1, 1.4, 2], ["0.5", "0.7", "1", "1.4", "2"])
axes.minorticks_off()
axes.set_xlabel("programs, sorted by their ratio")
axes.set_ylabel("time under the twin / original")
finding = f"{off_by_tenth} of {len(ratios)} differ by more than 10%"
figures.headline(figure, finding, "A release, measured twice")
_ = axes.legend(loc="upper left")

# %%
# Suppose you reported every difference above ten per cent. Each point outside the band would be a
# false report, and the most extreme ones would look the most convincing.
#
# A test, and what it promises
# ----------------------------
# A difference means something only if it is large compared with the spread *within* a release. The
# processes show that spread, and each contributes one number, its median time. Welch's t-test then
# asks: if nothing had changed, how often would the means of two groups of numbers come out at least
# this far apart? The answer is the *p-value*.
from scipy.stats import ttest_ind


def p_value(before, after):
    """Return how often chance alone sets two groups of times so far apart."""
    return ttest_ind(np.log(before), np.log(after), equal_var=False).pvalue


for name in chosen:
    times = by_name[name].estimates
    p = p_value(times[oldest].medians, times[newest].medians)
    print(f"{name:36} p = {p:.2g}")

# %%
# Return to your guesses. Where the p-value is large, the table can't tell you whether your guess
# was right. (The test compares logarithms because noise multiplies: a busy machine makes a program
# take twice as long, not a second longer.)
#
# Does the test keep its promise? If nothing changed, a p-value of at most 0.05 should come up five
# times in a hundred, which makes it a false alarm. The twin, which didn't change, puts that to the
# test:
twin_alarms = 0
for twin in twins:
    times = twin.series.estimates
    pair = times[newest].medians, times[releases.twin].medians
    twin_alarms += p_value(*pair) <= 0.05
print(f"{twin_alarms} false alarms in {len(twins)} comparisons")
print(f"promised: about {0.05 * len(twins):.0f}")

# %%
# A rule of a tenth would have raised :measured:`off_by_tenth`. The test knows how restless the
# programs are: under one release, a program's slowest process typically takes longer than its
# fastest by a factor of :measured:`typical_scatter`. A ratio has to stand out from that.
#
# Many comparisons need a correction
# ----------------------------------
# Now compare each release with the one before it, for every program. Without a change, p-values are
# spread evenly between 0 and 1, which is another way to state the promise of the test. With a
# change, they pile up near 0. (We skip programs marked ``is_exact``. Their memory is counted and
# not timed, and counts have no noise.)
steps = [step for step in releases.steps if not step.series.is_exact]
observed = []
for step in steps:
    times = step.series.estimates
    pair = times[step.before].medians, times[step.after].medians
    observed.append(p_value(*pair))
p_values = np.nan_to_num(observed, nan=1.0)
low = f"{np.mean(p_values <= 0.05):.1%}"

# %%
figure, axes = plt.subplots(figsize=(6, 3.2))
weights = np.full(len(p_values), 100 / max(len(p_values), 1))
look = {"color": figures.COLOURS[0], "label": "one release to the next"}
axes.hist(p_values, np.linspace(0, 1, 21), weights=weights, **look)
axes.axhline(5, color=figures.INK, lw=1, ls="--", label="without any change")
axes.set(xlabel="p-value", ylabel="% of the comparisons", xlim=(0, 1))
finding = (
    f"{low} of the p-values are at most 0.05, where chance alone puts 5%"
)
figures.headline(figure, finding, "From each release to the next")
_ = axes.legend()

# %%
# The list of all pairs up to 0.05 holds the real changes that the test can see, and about one in
# twenty of the pairs that didn't change. With :measured:`many` comparisons, about
# :measured:`by_luck` would be on the list if nothing had ever changed. Benjamini and Hochberg's
# correction looks at all p-values together, and lowers the limit until at most one entry in twenty
# is expected to be on the list by chance:
from scipy.stats import false_discovery_control

corrected = false_discovery_control(p_values)
print(f"{len(steps):,} comparisons")
print(f"{np.sum(p_values <= 0.05):,} with a p-value up to 0.05")
print(f"{np.sum(corrected <= 0.05):,} after the correction")

# %%
# The correction has a price, because small but real changes drop off the list together with the
# false ones. A pair that isn't listed may have changed all the same, but by too little for a
# handful of processes to show it.
#
# Two speeds under one release
# ----------------------------
# With so few numbers in a group, the t-test relies on their logarithms scattering around one value,
# roughly in the shape of a bell. Not every program behaves like that. Here is the one whose
# processes differ the most, with a dot for each process:
from jaxcap.releases.figures import course


def disagreement(series):
    """Return how far the processes of a release are apart, in the median."""
    return np.median([np.ptp(logs) for logs in series.logs.values()])


timed = [series for series in by_name.values() if not series.is_exact]
restless = max((s for s in timed if s.quantity == "time"), key=disagreement)
apart = np.exp(disagreement(restless))
finding = f"Under one release, processes differ by a factor of {apart:.1f}"
own = [change for change in releases.changes if change.series is restless]
figure = course(restless, own, releases.names)
figures.headline(figure, f"{finding}, in the median", restless.benchmark)
wide = f"{sum(s.has_modes for s in timed)} of {len(timed)} programs"

# %%
# Look for a release whose dots form two clusters. What decides which cluster a process belongs to
# isn't the release, but perhaps where its arrays lie in memory, or which threads share a core. A
# program can have both: releases with two speeds, and a change that is real, which a dotted line
# marks.
#
# With bad luck, most processes of one release are slow and most of the next are fast, and the test
# sees a change. A handful of processes can't show for certain that there are two speeds, so we are
# cautious wherever there could be. If the slowest process of any release takes at least half as
# long again as its fastest, a change has to pass one more check: every process of one release must
# be faster than all of the other. This applied to :measured:`wide`.
#
# Measure the largest changes twice
# ---------------------------------
# A list of the *largest* changes has a bias of its own, which statisticians call the winner's
# curse. To get to the top, a change has to be large, and a little luck helps. The cure is to
# measure the top of the list a second time, and to believe the second number, because nobody picked
# a winner by it.
#
# This site's list of changes applies these tests, with a second and more cautious one beside
# Welch's, and two more. The difference has to be at least ten per cent. And some programs have a
# counterpart in NumPy, which ran under each release as well: if NumPy's time changed along with
# JAX's, the change isn't listed, because JAX needn't be the cause. Most of the largest changes were
# then recorded again. How far do the two recordings agree?
changes = [step for step in releases.changes if not step.series.is_exact]
again = []
for change in changes:
    second = releases.change_in_second_recording(change)
    if second:
        again.append((change, second))

# %%
rows = [
    (first.series.benchmark, first.after, first.words, second.words)
    for first, second in again[:8]
]
columns = ("program", "release", "first recording", "second recording")
left_out = len(releases.contradicted)
note = f"Left out: {left_out or 'no'} changes that the second contradicts."
Table("The largest changes, measured twice", columns, rows, [note])

# %%
# If luck alone had lifted these changes to the top, most would be smaller the second time. Of all
# that were recorded twice, :measured:`shrunk` were.
#
# Two causes are known. On a CPU, in 0.11.1, `loops that write single elements rewrote their whole
# array <https://github.com/jax-ml/jax/issues/40101>`__, and 0.11.2 fixed that. And according to
# `JAX's change log <https://docs.jax.dev/en/latest/changelog.html>`__, the CPU got a new backend in
# 0.4.32. That release was withdrawn, so its changes show up in 0.4.33. Here is the program with the
# largest change, under all releases:
largest = changes[0].series if changes else timed[0]
own = [change for change in changes if change.series is largest]
_ = course(largest, own, releases.names)

# %%
# So, has it?
# -----------
# Back to the question in the title. Each dot is a program, and lies left of the line if the program
# takes less time under the newest release than under the oldest. Only dots that pass the tests
# above have a colour. (These two releases weren't recorded again.) A grey one may differ by less
# than ten per cent, or not for certain, or together with NumPy. (Programs whose memory was counted
# have no time, and no dot.)
pairs = [p for p in releases.then_and_now if not p.series.is_exact]
topics = list(dict.fromkeys(pair.series.topic for pair in pairs))
own = [pair for pair in pairs if releases.is_own_change(pair)]
faster = [pair for pair in own if pair.ratio < 1]
slower = [pair for pair in own if pair.ratio > 1]

# %%
blue, orange, *_ = figures.COLOURS
colours = {
    pair.series.benchmark: blue if pair.ratio < 1 else orange for pair in own
}

# %%
from matplotlib.ticker import LogLocator

figure, axes = plt.subplots(figsize=(6, 4))
axes.axvline(1, color=figures.INK, linewidth=0.8)
for pair in pairs:
    row = topics.index(pair.series.topic)
    colour = colours.get(pair.series.benchmark, figures.GRID)
    axes.plot(pair.ratio, row, "o", color=colour, markersize=6)
axes.set_yticks(range(len(topics)), topics)
axes.invert_yaxis()
axes.set_xscale("log")
axes.set_xlabel(
    f"time under {newest} / time under {oldest}\n(lower is better)"
)
axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
axes.xaxis.set_major_formatter("{x:g}")
axes.minorticks_off()
finding = f"{len(faster)} of {len(pairs)} are faster (blue)"
figures.headline(figure, f"{finding}, {len(slower)} slower (orange)")

# sphinx_gallery_thumbnail_number = 5

# %%
# If a row has both blue dots and orange ones, not even programs of one kind agree. Nor are the
# programs a fair sample: those in the row *issues* replay slowdowns that users reported. So ask
# about your own program. ``jaxcap bisect`` takes a function and two releases, installs releases in
# between, and finds the one that changed the function's speed. ``jaxcap releases record`` repeats
# the recording behind this page on your machine.
#
# Takeaway
# --------
count = f"{len(pairs)} programs"
less_time, more_time = str(len(faster)), str(len(slower))
by_luck = f"{0.05 * len(steps):,.0f}"
many = f"{len(steps):,}"
smaller = sum(second.factor < first.factor for first, second in again)
shrunk = f"{smaller} of {len(again)}"
scatters = [
    np.ptp(np.log(twin.series.estimates[newest].medians)) for twin in twins
]
typical_scatter = f"{np.exp(np.median(scatters)):.1f}"

# %%
# Whether JAX has become faster depends on your program. On the machine of this recording,
# :measured:`less_time` of :measured:`count` take less time under the newest release than under the
# oldest, and :measured:`more_time` take more. The rest changed by less than a tenth, or not
# certainly, or NumPy changed as well. Don't read the counts as a verdict on JAX, because many of
# the programs were chosen for slowdowns that users had reported.
#
# At one false alarm in twenty, the :measured:`many` comparisons from one release to the next would
# give about :measured:`by_luck` false alarms, even if nothing had ever changed. So before you
# report a regression, measure each release in several processes, and one release twice. Check that
# the program doesn't run at two speeds under one release, and then measure what you found once
# more.
#
# See :doc:`all programs under all releases </releases/index>`, and the :doc:`rules for what counts
# as a change </releases/noise>`. :doc:`Can you trust the intervals on this site?
# </tutorials/performance/precision>` asks the same questions of a single comparison.
#
# Next: :doc:`a first application, calibration </tutorials/applications/calibration>`
