"""
Has JAX become faster?
======================

Time a program under an old release and under today's, and one of the two numbers will be larger.
Did JAX change, or did you see noise? This page tells the two apart for many small programs, and finds
the releases in which their times changed. You need that before you report a regression, or stay with
an old release because of one.
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
# So what would a grey dot need to get a colour?
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
# Had you reported every difference above ten per cent, each point outside the band would have been a
# false report.
#
# A change has to stand out from the scatter
# ------------------------------------------
# Even under a single release, some processes take longer than others: under the newest, the medians of
# a program's processes typically lie up to a factor of :measured:`typical_scatter` apart. A difference
# between two releases means something if it is large compared with this scatter.
#
# Welch's t-test compares the two. It asks how often chance would set two groups of numbers at least
# this far apart if nothing had changed, and its answer is the *p-value*. Each process contributes one
# number, its median time, as a logarithm, because we are interested in ratios:
from scipy.stats import ttest_ind


def p_value(estimates, before, after):
    """Return how often chance would set two releases so far apart if nothing changed."""
    groups = [np.log(estimates[name].medians) for name in (before, after)]
    return ttest_ind(*groups, equal_var=False).pvalue


# %%
# If nothing changed, about five in a hundred p-values should be 0.05 or less, and each of those is a
# false alarm. The twin puts that to the test:
twin_alarms = 0
for twin in twins:
    p = p_value(twin.series.estimates, newest, releases.twin)
    twin_alarms += p <= 0.05
print(f"{twin_alarms} false alarms in {len(twins)} comparisons")
print(f"promised: about {0.05 * len(twins):.0f}")

# %%
# On the same twin, the rule of ten per cent raised :measured:`off_by_tenth` alarms. So the colours of the
# first figure rest on p-values, and on :doc:`further tests </releases/noise>`.
#
# Which releases brought changes?
# -------------------------------
# Now compare each release with the one before it, for every program. One false alarm in twenty seems a
# small risk, but among so many comparisons, chance alone would fill a long list:
from scipy.stats import false_discovery_control

steps = [step for step in releases.steps if not step.series.is_exact]
observed = [
    p_value(step.series.estimates, step.before, step.after) for step in steps
]
p_values = np.nan_to_num(observed, nan=1.0)  # equal groups have no p-value
corrected = false_discovery_control(p_values)
print(f"{len(steps):,} comparisons")
print(f"{np.sum(p_values <= 0.05):,} have a p-value up to 0.05")
print(f"about {0.05 * len(steps):,.0f} would, if nothing had ever changed")
print(f"{np.sum(corrected <= 0.05):,} are left after a correction")

# %%
# This correction, `Benjamini and Hochberg's
# <https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.false_discovery_control.html>`__, in
# effect lowers the limit until about one in twenty of those that are left, at most, should be there by
# chance. In which releases are these changes? Here are the four with the most:
from collections import Counter

found = [step for step, p in zip(steps, corrected) if p <= 0.05]
by_release = Counter(step.after for step in found)
for release, changes in by_release.most_common(4):
    longer = sum(s.ratio > 1 for s in found if s.after == release)
    print(f"{release:7} {changes:3} changes, {longer:2} to longer times")

# %%
# One change in the compiler or its runtime can reach many programs at once. In 0.4.32, which this
# recording skips, CPUs got `a new runtime <https://docs.jax.dev/en/latest/changelog.html>`__, and a user
# reported `a simulator that became several times slower
# <https://github.com/jax-ml/jax/issues/26145>`__. In 0.11.1, on a CPU, a loop that wrote a small slice of
# an array `rewrote the whole array <https://github.com/jax-ml/jax/issues/40101>`__ in every step.
#
# Two releases hide what happened between them
# --------------------------------------------
# The first figure compares the oldest release with the newest. What would you miss if you measured
# these two alone? A user reported `a while_loop
# <https://github.com/jax-ml/jax/issues/25190>`__ as a regression from 0.4.31 to 0.4.33. Here is a small
# copy of it, under all releases:
from jaxcap.releases import figures as release_figures

loop = "while_loop of 10,000 maxima"
_ = release_figures.course_of(releases, loop)

# %%
then_and_now = next(p for p in pairs if p.series.benchmark == loop)
of_loop = [c for c in releases.changes if c.series.benchmark == loop]
worst = max(of_loop or [then_and_now], key=lambda change: change.factor)
worst_words, worst_release, before_it = worst.words, worst.after, worst.before
at_the_ends = then_and_now.words
its_dot = "coloured" if then_and_now in own else "grey"

# %%
# Under :measured:`worst_release`, the loop was :measured:`worst_words` than under
# :measured:`before_it`. The newest release and the oldest, by themselves, would have shown you a loop
# that is :measured:`at_the_ends`, and a dot that is :measured:`its_dot`. So before you blame the newest
# release, look at those in between. :ref:`jaxcap bisect <command-bisect>` finds the one that slowed
# down a program of your own.
#
# Takeaway
# --------
count = f"{len(pairs)} programs"
less_time, more_time = str(len(faster)), str(len(slower))
by_luck = f"{0.05 * len(steps):,.0f}"
many = f"{len(steps):,}"
scatters = [
    np.ptp(np.log(twin.series.estimates[newest].medians)) for twin in twins
]
typical_scatter = f"{np.exp(np.median(scatters)):.1f}"

# %%
# Whether JAX has become faster depends on your program. On the machine of this recording,
# :measured:`less_time` of :measured:`count` take less time under the newest release than under the
# oldest, and :measured:`more_time` take more. These counts depend on the choice of programs, of which
# many replay slowdowns that users had reported.
#
# Before you report a regression, measure each release in several processes, and one release twice. If
# you compare many, correct for that: :measured:`many` comparisons may give :measured:`by_luck` false
# alarms even if nothing ever changed. Then find the release in which your program changed. It may lie
# between the two that you compared.
#
# See :doc:`all programs under all releases </releases/index>`. :doc:`Can you trust the intervals on
# this site? </tutorials/performance/precision>` asks the same questions of a single comparison.
#
# Next: :doc:`a first application, calibration </tutorials/applications/calibration>`
