"""
Can you trust the intervals on this site?
=========================================

When this site says that one function is faster than another, it goes by an interval for the ratio of
their times. To find out how often that is wrong, we compare functions of which we know the right answer,
and have three well-known tools do the same. A tool can be wrong in two ways: it can see a difference
that isn't there, or miss one that is.
"""

# %%
# A call should be as fast as itself
# ----------------------------------
# We take kernels of all kinds, from a scalar product to a system of equations. Each gets two names,
# ``A`` and ``B``, and we compare it with itself as if these were two functions:
from jaxcap.experiments.precision import PRECISION

twice = PRECISION.run(budget_s=0.02)
twice.speedups(over="A")

# %%
# If an interval contains 1, the verdict is *about as fast* if the interval rules out a difference of more
# than a quarter, and otherwise *undecided*. Both are right here. *Faster* or *slower* would be a false
# alarm:
verdicts = [speedup.verdict for _, speedup in twice.paired_speedups("A")]
alarms_here = sum(verdict in ("faster", "slower") for verdict in verdicts)
print(f"{alarms_here} of {len(verdicts)} are false alarms")

# %%
# *Undecided* is a cheap answer, because a tool that always gives it never raises an alarm. So for one
# of the kernels, we demand *about as fast*:
from jaxcap.report.claims import claim, speedup_of

as_fast = claim(
    "a matrix product is as fast as itself, within a quarter",
    twice,
    speedup_of("B", over="A", kernel="matrix product, jit"),
    above=0.8,
    below=1.25,
)
as_fast

# %%
# How often do four tools raise a false alarm?
# --------------------------------------------
# So few questions may not reveal a tool that is wrong one time in twenty. So we repeated them, first on
# a quiet machine, and then while another process kept one core busy. That takes too long for a build,
# so from here on the numbers come from a recording.
#
# For a run, the other tools got about as much time as ours. ``timeit`` and PyTorch's ``Timer`` give no
# verdict, so we count a difference if the ranges of ``timeit``'s repeats, or the quartile ranges of
# ``Timer``, don't overlap. pyperf has a t-test, but starts new processes for every function. In our
# time, it could answer one question where the others answer all. Which of the four will be wrong less
# often than one time in twenty?
import matplotlib.pyplot as plt
from matplotlib.ticker import PercentFormatter

from jaxcap.report import figures, reliability
from jaxcap.results.audit import BUSY, JAXCAP, LOADS, QUIET, TOOLS, recorded

audit = recorded()
alarms = str(reliability.false_alarms(audit, JAXCAP, QUIET))
finding = f"False alarms of {JAXCAP}, on the quiet machine: {alarms}"

# %%
# In the figure, a dot is the share of false alarms. The line through it is an interval for that
# share, with a confidence of 0.95. It is long where a tool answered few questions:
figure, axes = plt.subplots(figsize=(6, 3.6))
for load, colour, shift in zip(LOADS, figures.COLOURS, (-0.12, 0.12)):
    for row, tool in enumerate(TOOLS):
        share = reliability.false_alarms(audit, tool, load).interval
        label = load if row == 0 else None
        place = row + shift
        axes.hlines(place, share.low, share.high, color=colour)
        axes.plot(share.value, place, "o", color=colour, label=label)
axes.set_yticks(range(len(TOOLS)), TOOLS)
axes.set(xlim=(-0.03, 1), ylim=(3.5, -0.5), xlabel="share of false alarms")
figures.headline(figure, finding, "The same call twice")
axes.xaxis.set_major_formatter(PercentFormatter(1))
_ = figure.legend(loc="outside lower center", ncols=2)

# sphinx_gallery_thumbnail_number = 1

# %%
# On the quiet machine, :measured:`alarms` of this site's verdicts were false alarms, and with one
# core busy :measured:`alarms_when_busy`.
#
# How can a careful tool see a difference between a call and itself? The other three time ``A`` many
# times, and then ``B`` many times. Repeats that follow each other agree well, because the machine
# hardly changes in between. But by the time it is ``B``'s turn, the machine may have changed, and the
# tool compares two moments instead of two calls. On this site, ``A`` and ``B`` :doc:`take turns
# </measuring>` in each of several processes, so that a change meets both.
#
# What does it cost to avoid false alarms?
# ----------------------------------------
# A tool that avoids false alarms by saying *undecided* may miss differences that exist. So in each
# run, we also compared two functions that do differ: ``wave`` from :doc:`how to time JAX
# </tutorials/performance/timing>`, op by op and compiled. Their times differ by a factor of about
# :measured:`own_factor`. How often will our verdicts tell them apart?
for load in LOADS:
    found = reliability.detections(audit, JAXCAP, load)
    print(f"{load}: difference found in {found} of the runs")

# %%
# The other tools found a difference in :measured:`found_by_others` of their runs. But for them, it was a
# factor of about :measured:`others_factor`, because they ran without our :doc:`setting for memory
# </tutorials/performance/timing>`.
#
# Our intervals don't say where the true ratio is: they predict the ratio that the *next run* will
# measure. So they allow for the differences between processes, in both runs, and for a drift of the
# machine from one run to the next. In 95 of 100 cases, the next ratio should lie inside. Does it? An
# interval that is too wide would pass easily, so we also print the *width*, the upper end divided by the
# lower end: its median, and how often it is above 2.
for load in LOADS:
    intervals = reliability.speedups(audit, JAXCAP, load)
    inside = reliability.next_inside(intervals)
    width = reliability.median_width(intervals)
    wide = reliability.wide(intervals)
    print(f"{load}: next ratio inside in {inside}")
    print(f"  width {width:.2f}, above 2 in {wide}")

# %%
# On the quiet machine, our intervals contained the next ratio :measured:`judged`. There is no width
# that is right for everybody: wider intervals would miss more differences, and narrower ones could
# raise false alarms.
#
# The other tools don't promise to predict the next run, but you may read their ranges as if they did. So
# we put the same question to them, first for speed-ups and then for times:
reliability.table_of_intervals(audit, "speed-up")

# %%
reliability.table_of_intervals(audit, "time")

# %%
# A narrow range says little about the next run if the next number often lies outside. A single process
# is no guide either. The last table shows by how much the times of processes differed within a run, and
# the times of runs from one to the next, beside the drift for which our intervals allow:
reliability.table_of_deviations(audit)

# %%
# Takeaway
# --------
import numpy as np

from jaxcap.results.statistics import CONFIDENCE

as_itself = as_fast.estimate
alarms_when_busy = str(reliability.false_alarms(audit, JAXCAP, BUSY))
found_when_quiet = str(reliability.detections(audit, JAXCAP, QUIET))


# %%
def factor(tools):
    """Return the median factor by which some tools found the difference."""
    ratios = [
        reliability.speedup(tool, pair).value
        for tool in tools
        for load in LOADS
        for pair in reliability.waves(audit, tool, load).values()
    ]
    return f"{np.median(ratios):.1f}"


# %%
others = [tool for tool in TOOLS if tool != JAXCAP]
own_factor, others_factor = factor([JAXCAP]), factor(others)
shares = {
    f"{reliability.detections(audit, tool, load).interval.value:.0%}"
    for tool in others
    for load in LOADS
}
found_by_others = " and ".join(sorted(shares))


# %%
when_quiet = reliability.speedups(audit, JAXCAP, QUIET)
share = reliability.next_inside(when_quiet)
next_ratio = str(share)
own_width = f"{reliability.median_width(when_quiet):.2f}"
if share.interval.low > CONFIDENCE:
    judged = "so often that they could be narrower"
elif share.interval.high < CONFIDENCE:
    judged = "so rarely that they are too narrow"
else:
    judged = "about as often as they should"

# %%
# On a quiet machine, this site's verdicts raised a false alarm in :measured:`alarms` of the cases, and
# found a real difference, by a factor of about :measured:`own_factor`, in :measured:`found_when_quiet`
# of the runs. The two shares belong together, because a tool that never decides raises no false alarm.
#
# Behind each verdict is an interval that predicts the ratio of the next run. That ratio lay inside in
# :measured:`next_ratio` of the cases, and in the median, the ends of such an interval differed by a
# factor of :measured:`own_width`. On this page's machine, a matrix product was
# :measured:`as_itself than itself`. All this was tested over minutes, on one machine. If a decision
# depends on a number, measure it again on another day.
#
# :doc:`How we measure </measuring>` has the rules behind our intervals, and the command that repeats
# the audit on your machine. Next: from the precision of timings to that of numbers, and the question
# :doc:`how few bits are enough </tutorials/performance/bits>`.
