"""The machine that measures: what it is, and how to keep other work from disturbing it."""
