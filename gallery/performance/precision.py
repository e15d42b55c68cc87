"""
How far to trust these numbers
==============================

Every number on this site comes with an interval, and every comparison with a verdict. Are they right?
After this page you will know how often they were not, how other tools do in the same time, and what
no interval can promise.
"""

# %%
# The same call twice
# -------------------
# A verdict can only be checked where the answer is known. Here it is: a call is as fast as itself. So
# take kernels of all kinds, from a scalar product to a system of equations, and compare each with
# itself, as if ``A`` and ``B`` were two ways to compute it.
from jaxcap.experiments.precision import PRECISION

twice = PRECISION.run(budget_s=0.02)
twice.speedups(over="A")

# %%
# The right verdict is *undecided*, or *no faster* where the interval rules out any difference that would
# matter. How many of these are neither?
verdicts = [speedup.verdict for _, speedup in twice.paired_speedups("A")]
wrong = len(verdicts) - verdicts.count("undecided")
print(f"{wrong} of {len(verdicts)} are false alarms")

# %%
# That no difference was found could also mean that none would be, because the intervals are too wide.
# A claim needs more: that the whole interval is close to 1.
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
# An audit
# --------
# A single build shows little: some false alarms are what any confidence below certainty allows. So what
# you see above was repeated, on a quiet machine and then with one core kept busy by another process. In
# the same time, three other tools were asked the same questions, each as its documentation recommends:
# ``timeit``, which returns the least of several repeats; PyTorch's ``Timer``, with the median and
# the quartiles of its blocks; and pyperf, with the mean and the standard deviation over several
# processes, and a t-test. pyperf starts new processes for each function, so in the time in which the
# others answered all questions it could answer one.
#
# That takes too long for a build. The numbers from here on were recorded before, on the machine and
# on the day that the tables name:
from jaxcap.report import precision
from jaxcap.results.audit import BUSY, JAXCAP, LOADS, QUIET, TOOLS, recorded

audit = recorded()
precision.table_of_verdicts(audit)

# %%
# *False alarms* are kernels that a tool told from themselves. The two tools without a verdict leave it
# to us: we said that they differ if their ranges, or their quartiles, don't overlap. A tool that
# never finds anything has no false alarms either, so each was also asked for a difference that there
# is, between the wave op by op and compiled: *difference found*. The *spread* is that of this
# speed-up from run to run, as a standard deviation, with its own interval.
import matplotlib.pyplot as plt
from matplotlib.ticker import PercentFormatter

from jaxcap.report import figures
from jaxcap.results.statistics import CONFIDENCE

figure, axes = plt.subplots(figsize=(7, 3))
for load, colour, shift in zip(LOADS, figures.COLOURS, (-0.12, 0.12)):
    for row, tool in enumerate(TOOLS):
        share = precision.false_alarms(audit, tool, load).interval
        axes.plot([share.low, share.high], [row + shift] * 2, color=colour)
        axes.plot(
            share.value,
            row + shift,
            "o",
            color=colour,
            label=None if row else load,
        )
axes.axvline(
    1 - CONFIDENCE, color=figures.INK, linestyle="--", label="allowed"
)
axes.set_yticks(range(len(TOOLS)), TOOLS)
axes.invert_yaxis()
axes.set(
    xlim=(0, 1), xlabel="share of false alarms", title="The same call twice"
)
axes.xaxis.set_major_formatter(PercentFormatter(1))
_ = figure.legend(loc="outside right center")

# %%
# How can a careful tool raise false alarms? Repeats that follow one another agree well, because the
# machine hardly changes meanwhile. When it is ``B``'s turn it may have changed, and whoever compares two
# blocks of repeats compares that, too. A new process changes more, since it lays out its memory anew.
# Here, therefore, ``A`` and ``B`` take turns, and the interval is made from several processes.
#
# Where will the next run lie?
# ----------------------------
# An interval is a promise about what is measured next. To check it, take each run's interval, and see
# whether the next run's value lies inside. It should as often as the interval's confidence says, and
# the interval should be narrow: it is of no use to be told that a time lies between a second and an
# hour. *Width* is how many times its lower end the upper end is, in the median.
precision.table_of_intervals(audit)

# %%
# The other tools promise nothing of this kind, so this is no fault of theirs. But what they print
# beside a number is what their readers have to go by: the range of repeats, the quartiles, the standard
# deviation.
#
# The speed-up of the wave, run by run, as each tool gave it on the quiet machine:
figure, panels = plt.subplots(
    1, len(TOOLS), figsize=(7, 3), sharex=True, sharey=True
)
for axes, tool in zip(panels, TOOLS):
    runs = precision.waves(audit, tool, QUIET)
    given = [precision.speedup(tool, pair) for pair in runs.values()]
    axes.vlines(list(runs), [i.low for i in given], [i.high for i in given])
    axes.plot(list(runs), [i.value for i in given], "o", markersize=4)
    axes.set_title(tool, fontsize=10)
figure.supxlabel("run")
_ = panels[0].set_ylabel("speed-up of the wave")

# sphinx_gallery_thumbnail_number = 1

# %%
# Their values may lie apart, too, because they don't time quite the same. Here the memory allocator is
# :doc:`held still </measuring>`, while under the other tools large arrays may go back to the system
# after each call, and be fetched again.

# %%
# What no interval promises
# -------------------------
# The runs of an audit follow one another within minutes. Over such a time a machine changes less than
# from one hour to the next, when its clock, its temperature and its neighbours are others. How much
# is left even so? This splits the variation of times into that between the processes of one run, and
# that between runs, as far as the processes don't explain it:
precision.table_of_deviations(audit)

# %%
# The processes of a run can't show the second column, so each interval allows for the third one as well.
# Where runs differ by more than that, expect times of next week to lie outside more often than the
# table above says. Speed-ups should suffer less, because what slows down one side slows down the other.
#
# Nor does an interval speak of another machine, another version of a library or another size. That is
# why each page says on what it was measured.
#
# Repeat it
# ---------
# In a clone of the repository, on a machine that has nothing else to do:
#
# .. code-block:: console
#
#    $ nox -s bench -- precision
#
# It prints these tables, and puts what it measured in the place of the file that this page reads. The
# file comes with the package, so a download of this page has it, too.
#
# Takeaway
# --------
as_itself = twice.speedup("B", over="A", kernel="matrix product, jit")
alarms = str(precision.false_alarms(audit, JAXCAP, QUIET))
alarms_when_busy = str(precision.false_alarms(audit, JAXCAP, BUSY))
times = precision.times(audit, JAXCAP, QUIET)
speedups = precision.speedups(audit, JAXCAP, QUIET)
next_time = str(precision.next_inside(times))
next_ratio = str(precision.next_inside(speedups))

# %%
# In this build, compared with itself, a matrix product came out :measured:`as_itself`. In the audit, of all
# verdicts on equal calls, these were wrong: :measured:`alarms` on a quiet machine, and
# :measured:`alarms_when_busy` with one core busy. On the quiet machine, the interval of a time contained
# the next run's in :measured:`next_time` of cases, and that of a ratio in :measured:`next_ratio`. Trust
# a verdict and an interval as far as that, and measure again what a decision depends on. Mistakes that
# no interval shows are on :doc:`the page on timing </tutorials/performance/timing>`, and the rules
# behind all of this on :doc:`the page on method </measuring>`.
#
# After this page: :doc:`has JAX become faster? </tutorials/performance/releases>`, which compares many
# releases, and so has more verdicts to be wrong about.
