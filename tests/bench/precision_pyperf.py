"""The two calls of precision.py as benchmarks for pyperf, which runs this script many times."""

import pyperf
from precision import POINT

from jaxcap.experiments.jit import JIT

if __name__ == "__main__":
    runner = pyperf.Runner()
    for name, call in JIT.prepare(**POINT).items():
        runner.bench_func(name, lambda call=call: call().block_until_ready())
