"""Answers to the exercises, checked: ``check("1.3", answer)``."""

from jaxcap.exercises.check import check

__all__ = ["check"]
