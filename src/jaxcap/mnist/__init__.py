"""Handwritten digits: one network in Flax and in PyTorch, its data and ways to train it."""
