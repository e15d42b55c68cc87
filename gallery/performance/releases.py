"""
Has JAX become faster?
======================

Time a program under an old release and under today's, and one of the two numbers will be larger.
Did JAX change, or did you see noise? This page compares dozens of releases, and finds out how
different a release can look from *itself*, why a long list of comparisons contains regressions that
never happened, and which changes survive.
"""

# %%
# Two numbers don't answer it
# ---------------------------
# It takes hours to measure dozens of releases, so this page reads an earlier recording. Its small
# programs ran in a few fresh processes under each release, and the releases took turns on one
# machine.
from jaxcap.releases.recorded import recorded

releases = recorded()
machine = releases.sets[releases.newest].environment
programs = len(releases.of_jax())
print(f"{programs} programs under {len(releases.names)} releases")
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
# It is tempting to read off an answer for every row. But even two measurements of the *same* thing
# differ. By how much?
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
# A difference means something only if it is large compared with the spread *within* a release. Each
# process contributes one number, its median time. Welch's t-test then asks: if nothing had changed,
# how often would two groups of numbers come out at least this far apart? The answer is the
# *p-value*.
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
# times in a hundred. The twin, which didn't change, puts that to the test:
twin_alarms = 0
for twin in twins:
    times = twin.series.estimates
    pair = times[newest].medians, times[releases.twin].medians
    twin_alarms += p_value(*pair) <= 0.05
print(f"{twin_alarms} false alarms in {len(twins)} comparisons")

# %%
# Why did :measured:`off_by_tenth` of the twin's ratios differ from one by more than a tenth, while
# :measured:`false_alarms` set off the test? The test compares each ratio with how far processes of
# one release lie apart, which is typically a factor of :measured:`typical_scatter`.
#
# The twin is one pair of releases, and few comparisons to judge by. To get more, we deal the
# processes of a *single* release into two groups at random, usually two against three. We skip
# programs marked ``is_exact``, whose memory we count instead of their time, because counts don't
# vary.
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
print(f"{alarms:,} false alarms in {len(by_chance):,} comparisons, {share}")

# %%
# Five per cent were promised, so the test :measured:`keeps` its promise. (In groups as small as
# these, Welch's test tends to be cautious. Between releases, the groups are about twice as large.)
# But one in twenty is still many when each release brings :measured:`programs` comparisons.
#
# Many comparisons need a correction
# ----------------------------------
# Now compare each release with the one before it, for every program. Something changed in some of
# these pairs and nothing in others, and the p-values tell roughly how many there are of each kind.
# Without a change, p-values are spread evenly between 0 and 1, which is another way to state the
# promise of the test. With a change, they pile up near 0.
steps = [step for step in releases.steps if not step.series.is_exact]
observed = []
for step in steps:
    times = step.series.estimates
    pair = times[step.before].medians, times[step.after].medians
    observed.append(p_value(*pair))
p_values = np.nan_to_num(observed, nan=1.0)
low = f"{np.mean(p_values <= 0.05):.1%}"
finding = f"p-values up to 0.05: {share} by chance, {low} between releases"

# %%
figure, axes = plt.subplots(figsize=(6, 3.2))
for values, label, colour in (
    (by_chance, "dealt at random", figures.COLOURS[0]),
    (observed, "one release to the next", figures.COLOURS[1]),
):
    weights = np.full(len(values), 100 / max(len(values), 1))
    style = {"histtype": "step", "color": colour, "label": label}
    axes.hist(values, np.linspace(0, 1, 21), weights=weights, **style)
axes.set(xlabel="p-value", ylabel="% of the comparisons", xlim=(0, 1))
figures.headline(figure, finding)
_ = axes.legend()

# %%
# The list of all pairs below 0.05 holds the real changes that the test can see, and about one in
# twenty of the pairs that didn't change. If none had changed, it could still have about
# :measured:`by_luck` entries. Benjamini and
# Hochberg's correction looks at all p-values together, and lowers the limit until at most one entry
# in twenty is expected to be on the list by chance:
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
# A test that compares means takes for granted that each release has *one* speed. Here is the
# program whose processes differ the most, with a dot for each process:
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
restless_programs = f"{sum(s.has_modes for s in timed)} of {len(timed)}"

# %%
# Look for a release whose dots form two clusters. What decides which cluster a process belongs to
# isn't the release, but perhaps where its arrays lie in memory, or which threads share a core. A
# program can have both: releases with two speeds, and a change that is real, which a dotted line
# marks.
#
# With bad luck, most processes of one release are slow and most of the next are fast, and the test
# sees a change. The processes of some release differ by half or more for
# :measured:`restless_programs` programs. There, a change has to pass one more check: every process
# of one release must be faster than all processes of the other.
#
# Measure the largest changes twice
# ---------------------------------
# A list of the *largest* changes has a bias of its own, which statisticians call the winner's
# curse. To get to the top, a change has to be large, and a little luck helps. The cure is to
# measure the top of the list a second time, and to believe the second number, because nobody picked
# a winner by it.
#
# This site's own list of changes applies all of these tests, and two more, which :doc:`a page of
# rules </releases/noise>` explains. The table has the largest change on that list at each release.
# How far do the two recordings agree on its size?
changes = [step for step in releases.changes if not step.series.is_exact]
of_release = {}
for change in changes:
    of_release.setdefault(change.after, change)

# %%
rows = []
for change in list(of_release.values())[:8]:
    second = releases.change_in_second_recording(change)
    words = second.words if second else "not measured again"
    rows.append((change.series.benchmark, change.after, change.words, words))
columns = ("program", "release", "first recording", "second recording")
left_out = len(releases.contradicted)
note = f"Left out: {left_out or 'no'} changes that the second contradicts."
Table("The largest change at each release", columns, rows, [note])

# %%
# Two causes are known. On a CPU, in 0.11.1, `loops that write single elements rewrote their whole array
# <https://github.com/jax-ml/jax/issues/40101>`__, and 0.11.2 fixed that. And according to `JAX's
# change log <https://docs.jax.dev/en/latest/changelog.html>`__, the CPU got a new backend in
# 0.4.32. That release was withdrawn, so its changes show up in 0.4.33. Here is the program at the
# top of the table, under all releases:
largest = changes[0].series if changes else timed[0]
own = [change for change in changes if change.series is largest]
_ = course(largest, own, releases.names)

# %%
# So, has it?
# -----------
# Back to the question in the title. Each dot is a program. If it lies left of the line, the program
# takes less time under the newest release than under the oldest. The dot is grey if the difference
# is uncertain or below ten per cent, if a second recording contradicts it, or if NumPy's time
# changed as well, because then JAX needn't be the cause. (Programs whose memory was counted have no
# time, and no dot.)
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
# Where a row has both blue dots and orange ones, not even programs of one kind agree. Nor are the
# programs a fair sample: those in the row *issues* replay slowdowns that users reported. So ask
# about your own program. ``jaxcap bisect`` takes a function and two releases, installs releases in
# between, and finds the one that changed the function's speed. ``jaxcap releases record`` repeats
# the recording behind this page on your machine.
#
# Takeaway
# --------
count = f"{len(pairs)} programs"
keeps = "keeps" if alarms <= 0.05 * len(by_chance) else "breaks"
less_time, more_time = str(len(faster)), str(len(slower))
by_luck = f"{0.05 * len(steps):,.0f}"
many, false_alarms = f"{len(steps):,}", f"{twin_alarms}"
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
# give about :measured:`by_luck`. So before you report a regression, measure each release
# in several processes, and one release twice. Check that the program doesn't run at two speeds
# under one release, and then measure what you found once more.
#
# :doc:`/releases/index` has all programs under all releases, and :doc:`/releases/noise` the rules
# for what counts as a change. :doc:`Can you trust the intervals on this site?
# </tutorials/performance/precision>` asks the same questions of a single comparison.
#
# Next: :doc:`a first application, calibration </tutorials/applications/calibration>`
