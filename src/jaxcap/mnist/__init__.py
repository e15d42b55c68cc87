"""Handwritten digits: one network in Flax and in PyTorch, its data and ways to train it.

- ``config``: settings.
- ``data``: MNIST, or the part of it that comes with the package.
- ``model``, ``model_torch``: the network.
- ``layers``, ``layers_torch``: the network's layers one by one.
- ``training``: epochs, tests and checkpoints, in any framework.
- ``train_flax``, ``train_torch``: steps of training.
- ``checkpoints``: how a training that was interrupted goes on.
"""
