"""What limits a process, read from made-up systems of both versions of control groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxcap.measure.machine.limits import Limits, limits

MEMINFO = "MemTotal:       16000000 kB\nMemFree:         1000000 kB\n"
GIB = 2**30


def system(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")
    return root


@pytest.mark.parametrize(
    ("files", "quota", "memory"),
    [
        ({}, None, None),
        ({"proc/self/cgroup": "nothing that is known\n"}, None, None),
        (
            {
                "proc/self/cgroup": "0::/\n",
                "sys/fs/cgroup/cpu.max": "50000 100000\n",
                "sys/fs/cgroup/memory.max": f"{GIB}\n",
            },
            0.5,
            GIB,
        ),
        (
            {
                "proc/self/cgroup": "0::/a/b\n",
                "sys/fs/cgroup/a/cpu.max": "200000 100000\n",
                "sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
                "sys/fs/cgroup/a/b/memory.max": "max\n",
            },
            2.0,
            None,
        ),
        (  # the path of the host, of which the container sees only the end
            {
                "proc/self/cgroup": "4:memory:/docker/1\n2:cpu,cpuacct:/docker/1\n0::/\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "150000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{GIB}\n",
            },
            1.5,
            GIB,
        ),
        (  # as both versions write that there is no limit
            {
                "proc/self/cgroup": "4:memory:/\n2:cpu:/\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            },
            None,
            None,
        ),
    ],
    ids=["nothing", "strange", "version 2", "in a parent", "version 1", "unlimited"],
)
def test_limits_of_a_container_are_read(
    tmp_path: Path, files: dict[str, str], quota: float | None, memory: int | None
) -> None:
    found = limits(system(tmp_path, {"proc/meminfo": MEMINFO, **files}))
    assert (found.cpu_quota, found.memory_limit_bytes) == (quota, memory)
    assert found.memory_bytes == 16_000_000 * 1024


def test_nothing_is_known_of_a_system_without_such_files(tmp_path: Path) -> None:
    found = limits(tmp_path)
    assert (found.cpu_quota, found.memory_bytes, found.memory_limit_bytes) == (None, None, None)
    assert 1 <= found.usable_cores <= found.cores


def test_variables_that_limit_threads_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert limits().variables["OMP_NUM_THREADS"] == "1"


@pytest.mark.parametrize(("quota", "cores"), [(None, 8), (0.5, 0.5), (16.0, 8)])
def test_the_tighter_of_two_limits_counts(quota: float | None, cores: float) -> None:
    assert Limits(cores=64, usable_cores=8, cpu_quota=quota).effective_cores == cores
