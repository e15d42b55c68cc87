"""The two calls of precision.py as pyperf benchmarks; pyperf runs this script many times."""

import pyperf
from precision import POINT, prepare

if __name__ == "__main__":
    runner = pyperf.Runner()
    for name, call in prepare(**POINT).items():
        runner.bench_func(name, lambda call=call: call().block_until_ready())
