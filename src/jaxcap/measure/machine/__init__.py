"""The machine that measures: what it is, and how to keep other work from disturbing it.

- ``allocator``: keeps page faults from blurring timings.
- ``description``: all that a timing depends on and that may be published.
- ``disturbance``: how much CPU time goes to other work.
- ``doctor``: whether JAX uses the GPU and the machine is idle, with remedies.
- ``limits``: how much of the machine a process may use.
- ``lock``: one measurement at a time.
- ``nvidia``: the driver and the plugins that are installed.
- ``speed``: how fast the machine is at the moment.
"""
