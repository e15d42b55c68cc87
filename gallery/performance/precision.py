"""
Can you trust the intervals on this site?
=========================================

This site puts an interval and a verdict beside its comparisons. We can test both by asking
questions whose answer we know. We count how often a verdict raises a false alarm, and how often an
interval misses the next measurement. Do the usual tools do better in the same time? You will learn
little about JAX here, so if you take our intervals on trust, read the takeaway and go on to the
next page.
"""

# %%
# Can we tell that a call is as fast as itself?
# ---------------------------------------------
# One comparison has an answer that we know beforehand: that of a call with itself. We take kernels
# of all kinds, from a scalar product to a system of equations, give each of them two names, ``A``
# and ``B``, and compare it with itself as if these were two functions.
from jaxcap.experiments.precision import PRECISION

twice = PRECISION.run(budget_s=0.02)
twice.speedups(over="A")

# %%
# Two answers would be right here: *about as fast* and *undecided*. *Undecided* says that the
# interval is too wide to tell. *About as fast* says more: the whole interval rules out a difference
# of more than a quarter. Any other verdict is a false alarm:
verdicts = [speedup.verdict for _, speedup in twice.paired_speedups("A")]
alarms_here = sum(verdict in ("faster", "slower") for verdict in verdicts)
print(f"{alarms_here} of {len(verdicts)} are false alarms")

# %%
# A low number alone proves little, because a tool that always answers *undecided* never raises an
# alarm. So we also demand a real answer to one of the questions: for the matrix product, the
# interval has to be narrow enough to say *about as fast*.
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
# Four tools, asked the same kind of question
# -------------------------------------------
# The few questions of one build can't tell a tool that is never wrong from one that is wrong one
# time in twenty. We therefore repeated the comparison many times, first on a quiet machine, and
# then while another process kept one of its cores busy.
#
# Three other tools got as much time as our own. ``timeit`` prints the best of several repeats; as
# its range, we took the smallest and the largest of them. PyTorch's ``Timer`` gives the median and
# the quartiles of its blocks. Neither gives a verdict, so we say that they see a difference where
# their ranges, or their quartiles, don't overlap. pyperf gives the mean and the standard deviation
# over several processes, and compares functions with a t-test. It starts new processes for every
# function, so in a run it had time for only one question, with as few as two processes, where its
# default is twenty. The others answered all questions.
#
# Such an audit takes far too long for a build, so the numbers from here on were recorded, on the
# machine and on the day that the tables name. The table has the share of false alarms, and an
# interval for that share, because ten answers can't tell much:
from jaxcap.report import reliability
from jaxcap.results.audit import BUSY, JAXCAP, LOADS, QUIET, TOOLS, recorded

audit = recorded()

# %%
from jaxcap.results.tables import Table

rows = []
for tool in TOOLS:
    raised = reliability.false_alarms(audit, tool, QUIET)
    ends = f"{raised.interval.low:.0%} to {raised.interval.high:.0%}"
    rows.append((tool, str(raised), ends))
headers = ("tool", "false alarms", "95% interval")
Table(f"The same call twice, quiet machine: {audit.where}", headers, rows)

# %%
# Our verdict was *about as fast* for :measured:`found_alike` of these pairs. A tool that never
# decides raises no false alarm, so it also has to find a difference that does exist. We took
# ``wave``, the function from :doc:`how to time JAX </tutorials/performance/timing>`, op by op
# against compiled. On the quiet machine, our verdicts found it in :measured:`found` of the runs,
# and with one core busy in :measured:`found_when_busy`. The other tools found it every time, but
# theirs was an easier question. They leave freed memory to the C library, which makes the factor
# :measured:`other_factors`, where we saw :measured:`own_factor`. (The ninth mistake of :doc:`how to
# time JAX </tutorials/performance/timing>` explains why.)
#
# The next figure shows whether a busy machine raises more false alarms:
import matplotlib.pyplot as plt
from matplotlib.ticker import PercentFormatter

from jaxcap.report import figures

alarms = reliability.false_alarms(audit, JAXCAP, QUIET)
finding = f"False alarms of {JAXCAP}, on the quiet machine: {alarms}"

# %%
figure, axes = plt.subplots(figsize=(6, 3))
for load, colour, shift in zip(LOADS, figures.COLOURS, (-0.12, 0.12)):
    for row, tool in enumerate(TOOLS):
        share = reliability.false_alarms(audit, tool, load).interval
        label = load if row == 0 else None
        place = row + shift
        axes.hlines(place, share.low, share.high, color=colour)
        axes.plot(share.value, place, "o", color=colour, label=label)
axes.set_yticks(range(len(TOOLS)), TOOLS)
axes.invert_yaxis()
axes.set(xlim=(-0.03, 1), xlabel="share of false alarms")
figures.headline(figure, finding, "The same call twice")
axes.xaxis.set_major_formatter(PercentFormatter(1))
_ = figure.legend(loc="outside right center")

# sphinx_gallery_thumbnail_number = 1

# %%
# With one core busy, :measured:`alarms_when_busy` of this site's verdicts were false alarms.
#
# You might expect one in twenty, since our intervals have a confidence of 0.95. But they predict the
# next run, which scatters as well, so they are wider than an interval for the true ratio. That
# makes false alarms rarer than one in twenty, and has its price: more differences stay undecided.
#
# Why would a careful tool see a difference between a call and itself? Suppose
# that the tool times ``A`` a thousand times, and then ``B`` a thousand times. Repeats that follow
# each other agree well, because the machine hardly changes in between. But by the time it is
# ``B``'s turn, the machine may have changed, and then you are comparing two moments instead of two
# calls. A new process changes even more, because it lays out its memory anew. That is why ``A`` and
# ``B`` take turns on this site, and why its intervals come from several processes.
#
# Will the next run agree?
# ------------------------
# An interval is a promise about the next measurement, and we can check whether the promise was
# kept: did the time in the next run lie inside? That should happen in 95 of 100 cases. But a wide
# interval keeps its promise easily and helps nobody. So the table also has the median *width*,
# which is the upper end of an interval divided by its lower end:
rows = []
for tool in TOOLS:
    of_tool = reliability.times(audit, tool, QUIET)
    inside = str(reliability.next_inside(of_tool))
    width = f"{reliability.median_width(of_tool):.2f}"
    rows.append((tool, inside, width))
headers = ("tool", "next time inside", "width")
Table(f"Intervals of a time, quiet machine: {audit.where}", headers, rows)

# %%
# This site's interval contained the next run's time in :measured:`next_time` of the cases,
# :measured:`times_judged`. Its interval for the ratio of two times contained the next run's ratio
# in :measured:`next_ratio`, :measured:`ratios_judged`. pyperf timed each kernel in one run only, so
# there is no next time to check.
#
# The other tools never promised to contain the next time. ``timeit`` and PyTorch's ``Timer`` also
# ran only in every other run, so more time passed between one of their answers and the next.
#
# What no interval can promise
# ----------------------------
# The runs of the audit follow each other within minutes. Tomorrow the clock speed, the temperature
# and the neighbours on the machine will be different, and nothing measured today says how much that
# matters. What we can see is what changes within minutes:
from jaxcap.results.statistics import CONFIDENCE, DRIFT

quiet, busy = (reliability.deviations(audit, load) for load in LOADS)
between_processes, between_runs = (f"{share:.1%}" for share in quiet)
processes_when_busy, runs_when_busy = (f"{share:.1%}" for share in busy)
allowed_for = f"{DRIFT:.0%}"

# %%
# On the quiet machine, the time of a call typically differed by :measured:`between_processes` from
# process to process, and by another :measured:`between_runs` from run to run. With one core busy,
# these were :measured:`processes_when_busy` and :measured:`runs_when_busy`.
#
# However many processes a run has, it can't see how much it differs from other runs. So each
# prediction interval of a time on this site assumes that runs drift, too, with a standard deviation
# of :measured:`allowed_for`. For a ratio it assumes half as much, because what slows down one side
# usually slows down the other. If runs on your machine differ by more than that, expect more
# misses.
#
# Nor does an interval say anything about another machine, another version of a library, or another
# size. That is why each page tells you what it was measured on.
#
# Repeat the audit
# ----------------
# In a clone of the repository, on a machine with nothing else to do:
#
# .. code-block:: console
#
#    $ nox -s bench -- precision
#
# This prints the tables above in full, for the quiet and the busy machine. It also replaces the
# file from which this page reads them.
#
# Takeaway
# --------
as_itself = as_fast.estimate
alarms = str(reliability.false_alarms(audit, JAXCAP, QUIET))
alarms_when_busy = str(reliability.false_alarms(audit, JAXCAP, BUSY))
found, found_when_busy = (
    str(reliability.detections(audit, JAXCAP, load)) for load in LOADS
)
times = reliability.times(audit, JAXCAP, QUIET)
speedups = reliability.speedups(audit, JAXCAP, QUIET)
next_time = str(reliability.next_inside(times))
next_ratio = str(reliability.next_inside(speedups))

# %%
import numpy as np

own_factor, *factors = (
    np.median([reliability.speedup(tool, pair).value for pair in pairs])
    for tool in TOOLS
    if (pairs := reliability.waves(audit, tool, QUIET).values())
)
own_factor = f"{own_factor:.1f}"
own_width = f"{reliability.median_width(times):.2f}"
found_alike = str(reliability.matches(audit, QUIET))
other_factors = f"{min(factors):.1f} to {max(factors):.1f}"


# %%
def judged(share):
    """Say whether intervals contained as much as their confidence says."""
    if share.interval.low > CONFIDENCE:
        return "so often that the intervals are wider than they have to be"
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
# No interval shows a mistake that affects every repeat alike. For such mistakes, see
# :doc:`how to time JAX </tutorials/performance/timing>`. :doc:`How we measure </measuring>` has the
# rules behind our intervals. Next: from the precision of timings to that of numbers, and the
# question :doc:`how few bits are enough </tutorials/performance/bits>`.
