"""
Has JAX become faster?
======================

Time a program under an old release and under today's, and one of the two numbers will be larger.
Did JAX change, or did you see noise? This page shows how to tell programs whose times have changed
from those whose times only seem to. You need that before you report a regression, or stay with an old
release because of one.
"""

# %%
# Whether JAX is faster depends on the program
# --------------------------------------------
# It takes hours to measure dozens of releases, so this page reads an earlier recording. Many small
# programs ran in a few fresh processes under each release, and the releases took turns on one machine:
from jaxcap.releases.recorded import recorded

releases = recorded()
oldest, newest = releases.names[0], releases.newest
machine = releases.sets[newest].environment
timed = [series for series in releases.of_jax() if not series.is_exact]
print(f"{len(timed)} programs under {len(releases.names)} releases")
print(f"each in {releases.processes[0]} processes or more")
print(f"on {machine.device}, {machine.measured_at:%B %Y}")

# %%
# In the figure, each dot is a program. It lies left of the line if the program takes less time under
# the newest release than under the oldest. Only the coloured dots count as changes. Why not all of
# them?
pairs = [p for p in releases.then_and_now if not p.series.is_exact]
topics = list(dict.fromkeys(pair.series.topic for pair in pairs))
own = [pair for pair in pairs if releases.is_own_change(pair)]
faster = [pair for pair in own if pair.ratio < 1]
slower = [pair for pair in own if pair.ratio > 1]

# %%
import matplotlib.pyplot as plt
from matplotlib.ticker import LogLocator

from jaxcap.report import figures

blue, orange, *_ = figures.COLOURS
colours = {
    pair.series.benchmark: blue if pair.ratio < 1 else orange for pair in own
}

# %%
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

# sphinx_gallery_thumbnail_number = 1

# %%
# Where a row has both colours, not even programs of one kind agree. Nor are the counts a verdict, since
# they depend on the choice of programs: those in the row *issues* replay slowdowns that users reported.
# The rest of this page shows what a grey dot would need to get a colour.
#
# A release can differ from itself
# --------------------------------
# The newest release was installed a second time, and this *twin* was measured like any other release.
# Since the two are identical, every difference between them is noise. How many programs do you expect
# to differ by more than ten per cent?
import numpy as np

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
# false report, and the most extreme points would look the most convincing.
#
# A change has to stand out from the scatter
# ------------------------------------------
# Even under a single release, some processes take longer than others. A difference between two
# releases means something if it is large compared with that scatter. So let each process contribute
# one number, its median time. Welch's t-test then asks: if nothing had changed, how often would the
# means of two groups of numbers lie at least this far apart, measured by the scatter within the groups?
# The answer is the *p-value*. We compare logarithms, because what disturbs a process tends to multiply
# its times:
from scipy.stats import ttest_ind


def p_value(estimates, before, after):
    """Return how often chance would set two releases so far apart if nothing changed."""
    groups = [np.log(estimates[name].medians) for name in (before, after)]
    return ttest_ind(*groups, equal_var=False).pvalue


# %%
# Here are five programs under the oldest release and the newest. By their times alone, which of them
# have changed? Decide before you look at the last column:
from jaxcap.results.tables import Table

by_name = {series.benchmark: series for series in timed}
chosen = (
    "compiled call with one array",
    "product of 500 × 500 matrices",
    "gradient of a small network",
    "scan of 1,000 steps of a random walk",
    "sort of 10,000 numbers",
)

# %%
rows = []
for name in chosen:
    if name in by_name:
        times = by_name[name].estimates
        p = f"{p_value(times, oldest, newest):.2g}"
        rows.append((name, times[oldest].short, times[newest].short, p))
Table("Then and now", ("program", oldest, newest, "p-value"), rows)

# %%
# A small p-value means that chance would rarely set equal programs so far apart. A large p-value doesn't
# prove that the programs are equal. It says that these few processes can't tell.
#
# Can p-values be trusted? If nothing changed, about five in a hundred should be 0.05 or less, and each
# of those is a false alarm. The twin puts that to the test:
twin_alarms = 0
for twin in twins:
    p = p_value(twin.series.estimates, newest, releases.twin)
    twin_alarms += p <= 0.05
print(f"{twin_alarms} false alarms in {len(twins)} comparisons")
print(f"promised: about {0.05 * len(twins):.0f}")

# %%
# The rule of ten per cent would have given :measured:`off_by_tenth` false alarms, because it ignores
# how much the times of a single release scatter. The medians of its processes typically lie up to a
# factor of :measured:`typical_scatter` apart.
#
# Among thousands of comparisons, some look certain
# -------------------------------------------------
# One false alarm in twenty seems a small risk, until you compare many programs under many releases.
# Here each release is compared with the one before it, for every program that was timed:
from scipy.stats import false_discovery_control

steps = [step for step in releases.steps if not step.series.is_exact]
observed = [
    p_value(step.series.estimates, step.before, step.after) for step in steps
]
p_values = np.nan_to_num(observed, nan=1.0)
corrected = false_discovery_control(p_values)
print(f"{len(steps):,} comparisons")
print(f"{np.sum(p_values <= 0.05):,} have a p-value up to 0.05")
print(f"about {0.05 * len(steps):,.0f} would, if nothing had ever changed")
print(f"{np.sum(corrected <= 0.05):,} are left after a correction")

# %%
# A list of all p-values up to 0.05 would mix real changes with false alarms, and nothing in it says
# which is which. Benjamini and Hochberg's correction looks at all p-values together. It lowers the
# limit until, of all that is still listed, about one entry in twenty at most should be there by
# chance. The price is that small but real changes drop off the list together with the false ones.
#
# The largest changes need a second measurement
# ---------------------------------------------
# :doc:`This site's list of changes </releases/noise>` asks for more than a small p-value, and so do the
# colours of the first figure. A change has to be at least ten per cent, for example, and NumPy must not
# show it as well. But luck enlarges some changes, and those are the likeliest to be listed, where they
# look larger than they are. Statisticians call this the winner's curse. The cure
# is to measure what you have picked once more, and to believe the second number, because it wasn't used
# for the selection. How many of the changes will shrink?
again = []
for change in releases.changes:
    second = releases.change_in_second_recording(change)
    if second and not change.series.is_exact:
        again.append((change, second))

# %%
rows = [
    (first.series.benchmark, first.after, first.words, second.words)
    for first, second in again[:5]
]
columns = ("program", "release", "first recording", "second recording")
listed = [c for c in releases.changes if not c.series.is_exact]
left_out = len(releases.contradicted)
note = (
    f"{len(again)} of {len(listed)} changes on the list were recorded twice. "
    f"Left out: {left_out or 'no'} changes that the second contradicts."
)
Table("The largest changes, measured twice", columns, rows, [note])

# %%
# Of the changes that were recorded twice, :measured:`shrunk` were smaller the second time. If luck had
# enlarged these changes, most of them should have shrunk. What is left is to find the cause. In 0.11.1,
# for example, on a CPU, a loop that wrote a small slice of an array `rewrote the whole array
# <https://github.com/jax-ml/jax/issues/40101>`__ in every step. :ref:`jaxcap bisect <command-bisect>`
# finds the release that slowed down a program of your own.
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
# oldest, and :measured:`more_time` take more. These counts are no verdict on JAX, because they depend
# on the choice of programs, and many were chosen for slowdowns that users had reported.
#
# Before you report a regression, measure each release in several processes, and one release twice.
# Correct for the number of comparisons: at one false alarm in twenty, :measured:`many` comparisons
# may give :measured:`by_luck` even if nothing ever changed. Then measure what you found once more.
#
# See :doc:`all programs under all releases </releases/index>`. :doc:`Can you trust the intervals on
# this site? </tutorials/performance/precision>` asks the same questions of a single comparison.
#
# Next: :doc:`a first application, calibration </tutorials/applications/calibration>`
