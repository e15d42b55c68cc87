"""What pages show.

- ``claims``: sentences that are checked.
- ``document``: what was found out about a machine, as a page, text or JSON.
- ``exports``: results as CSV, JSON and Markdown, and side by side.
- ``figures``: all kinds of figures of results.
- ``findings``: their titles, in words that stay true.
- ``headlines``: sentences and small plots of the landing page.
- ``messages``: what devices send each other, as the compiled program says.
- ``reliability``: how far timings can be trusted.
- ``reviews``: what somebody's recordings add to those that there are.
- ``roofline``: which share of a device's ceilings a result reaches.
- ``source``: the source of functions.
- ``statements``: the claims of all tutorials, for any machine to check.
- ``typecheck``: reports of type checkers, which run in processes of their own.
- ``virtual_devices``: processes in which one CPU acts as several devices.
"""
