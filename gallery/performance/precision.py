"""
Can you trust the intervals on this site?
=========================================

This site puts an interval and a verdict beside its comparisons. To find out what they are worth, we
test both. Is a call found to be as fast as itself, and does the next measurement fall inside the
interval of the last? For comparison, three well-known tools get the same time to measure the same
calls.
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
# Two verdicts are right here. *About as fast* says that the whole interval lies between 0.8 and 1.25,
# and *undecided* that it is too wide for that. *Faster* or *slower* would be a false alarm:
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
# A few questions can't tell a tool that is never wrong from one that is wrong one time in twenty. So
# we repeated them, first on a quiet machine, and then while another process kept one core busy. That
# takes too long for a build, so from here on the numbers come from a recording.
#
# Three other tools got as much time as ours. ``timeit`` and PyTorch's ``Timer`` give no verdict, so we
# count a difference if the ranges of ``timeit``'s repeats, or the quartile ranges of ``Timer``, don't
# overlap. pyperf compares functions by a t-test. It starts new processes for every function, so in our
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
# core busy :measured:`alarms_when_busy`. *About as fast* made up :measured:`matched` and
# :measured:`matched_when_busy` of the verdicts, and the rest were undecided.
#
# Why would a careful tool see a difference between a call and itself? Suppose that it times ``A`` a
# thousand times, and then ``B`` a thousand times. Repeats that follow each other agree well, because
# the machine hardly changes in between. But by the time it is ``B``'s turn, the machine may have
# changed, and you compare two moments instead of two calls. That is why ``A`` and ``B`` take turns on
# this site.
#
# Do our verdicts find a difference that exists?
# ----------------------------------------------
# A tool that often says *undecided* is likely to miss differences that exist. So the audit includes
# one: ``wave``, the function from :doc:`how to time JAX </tutorials/performance/timing>`, op by op and
# compiled. How often do our verdicts tell the two apart? They differ by a factor of about
# :measured:`own_factor`. On the quiet machine, the verdicts found that in :measured:`found` of the
# runs, and with one core busy in :measured:`found_when_busy`. In the other runs, they said *undecided*.
#
# That is the price of few false alarms. Our intervals say where the *next run* will come out, which
# scatters as well, so they are wider than intervals for the true ratio would be, and leave more
# undecided.
#
# The other tools found their difference in :measured:`found_by_others` of the runs. But for them, the
# two functions differed by a factor of about :measured:`others_factor`: we :doc:`keep freed memory
# </tutorials/performance/timing>`, and they ran without that setting, so that op by op, new arrays took
# more time.
#
# Does the next run agree?
# ------------------------
# A prediction can be checked: in 95 of 100 cases, the time of the next run should lie inside our
# interval. A wide interval passes easily, so the table also has the median of the *width*, which is the
# upper end of an interval divided by its lower end. The other tools print no prediction, so we take
# what they print instead: the range of the repeats, the quartiles, or a standard deviation to either
# side of pyperf's mean.
from jaxcap.results.tables import Table

headers = ("tool", "machine", "false alarms", "next time inside", "width")
rows = []
for tool in TOOLS:
    for load in LOADS:
        of_tool = reliability.times(audit, tool, load)
        raised = str(reliability.false_alarms(audit, tool, load))
        inside = str(reliability.next_inside(of_tool))
        width = f"{reliability.median_width(of_tool):.2f}"
        rows.append((tool, load, raised, inside, width))
Table(f"The audit: {audit.where}", headers, rows)

# %%
# On the quiet machine, our interval contained the next run's time :measured:`times_judged`. Our
# verdicts rest on ratios of two times, and the next run's ratio lay inside in :measured:`next_ratio` of
# the cases, :measured:`ratios_judged`.
#
# The ranges of the other tools describe the repeats that they have seen, in a few processes or in one.
# The next run has new processes, at another moment, and repeats of one process can't show what that
# changes. The test was also harder for ``timeit`` and ``Timer``, because more time passed between their
# runs. pyperf timed each kernel in one run only, so it has no next time.
#
# What no interval can promise
# ----------------------------
# The runs of the audit follow each other within minutes. What standard deviation do you expect for the
# times of a typical kernel between the processes of a run, and what between runs?
from jaxcap.results.statistics import CONFIDENCE, DRIFT

for load in LOADS:
    processes, runs = reliability.deviations(audit, load)
    print(f"{load}: processes {processes:.1%}, runs {runs:.1%}")
print(f"our intervals allow for runs that differ by {DRIFT:.1%}")

# %%
# A run sees how much its own processes differ, but not how much runs differ beyond that. So our
# intervals of a time assume the value in the last line, and those of a ratio half of it, because what
# slows down one side usually slows down the other. Where runs differ by more than we assume, our
# intervals may promise too much. And tomorrow, the clock speed, the temperature or the neighbours on the
# machine may be different, and nothing measured today says how much that matters. Nor does an interval
# show a mistake that affects every repeat alike, as those in :doc:`how to time JAX
# </tutorials/performance/timing>` do.
#
# Takeaway
# --------
import numpy as np

alarms_when_busy = str(reliability.false_alarms(audit, JAXCAP, BUSY))
found, found_when_busy = (
    str(reliability.detections(audit, JAXCAP, load)) for load in LOADS
)
matched, matched_when_busy = (
    str(reliability.matches(audit, load)) for load in LOADS
)


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
times = reliability.times(audit, JAXCAP, QUIET)
speedups = reliability.speedups(audit, JAXCAP, QUIET)
next_time = str(reliability.next_inside(times))
next_ratio = str(reliability.next_inside(speedups))
own_width = f"{reliability.median_width(times):.2f}"
as_itself = as_fast.estimate


# %%
def judged(share):
    """Say whether intervals contained as much as their confidence says."""
    if share.interval.low > CONFIDENCE:
        return "so often that the intervals could be narrower"
    if share.interval.high < CONFIDENCE:
        return "so rarely that the intervals are too narrow"
    return "about as often as it should"


times_judged = judged(reliability.next_inside(times))
ratios_judged = judged(reliability.next_inside(speedups))

# %%
# On a quiet machine, this site's verdicts raised a false alarm in :measured:`alarms` of the cases,
# and found a real difference in :measured:`found` of the runs. The two shares belong together,
# because a tool that never decides raises no false alarm. The time of the next run lay inside our
# interval in :measured:`next_time` of the cases, and in the median, the ends of such an interval
# differed by a factor of :measured:`own_width`. On this page's machine, a matrix product was
# :measured:`as_itself than itself`. All this was tested over minutes, on one machine. If a decision
# depends on a number, measure it again on another day.
#
# :doc:`How we measure </measuring>` has the rules behind our intervals, and the command that repeats
# the audit on your machine. Next: from the precision of timings to that of numbers, and the question
# :doc:`how few bits are enough </tutorials/performance/bits>`.
