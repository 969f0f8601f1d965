"""How fast the lane order is, and what the general tools manage beside it.

    python benchmarks/lane_order.py            1,000 to 1,000,000 rows; about a minute and a half
    python benchmarks/lane_order.py --quick    up to 100,000 rows

Three kinds of lanes. `near`: 2 % rows without an ordinal, ordinals within 20 places of arrival. `mixed`: 30
% without, ordinals and arrival unrelated, so nearly everything is one giant cycle. `shuffled`: as `mixed`,
but handed over in an order that has nothing to do with either; the others come in order of arrival, as a
store reads them. Times are medians of several runs, in seconds of processor time, so that neighbours on the
machine disturb them less; the list of rows exists before the clock starts.
"""

from __future__ import annotations

import argparse
import platform
import random
import sqlite3
import time
import tracemalloc
from collections.abc import Callable
from graphlib import TopologicalSorter
from itertools import combinations
from statistics import median
from typing import Any

import networkx as nx

from statemachines.lanes import READINGS, Row, components, has_cycle, oracle, precedes, replay, verdict
from statemachines.lanes.sqlite import replay_statement

KINDS = ("near", "mixed", "shuffled")


def make(kind: str, size: int) -> list[Row]:
    """A lane of one kind; the same one at every call."""
    chance = random.Random(size)
    zero = 0.02 if kind == "near" else 0.30
    rows = []
    for i in range(size):
        ordinal = max(1, i + chance.randint(-20, 20)) if kind == "near" else chance.randint(1, size)
        rows.append(Row(i, 0 if chance.random() < zero else ordinal, 1_700_000_000_000 + 3 * i, i % 4))
    if kind == "shuffled":
        chance.shuffle(rows)
    return rows


def seconds(function: Callable[..., Any], *args: Any, runs: int) -> float:
    """The median processor time of some runs."""
    times = []
    for _ in range(runs):
        begin = time.process_time()
        function(*args)
        times.append(time.process_time() - begin)
    return median(times)


def peak(function: Callable[..., Any], *args: Any) -> int:
    """The most bytes that a call holds at once, beside its arguments."""
    tracemalloc.start()
    function(*args)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def in_sqlite(rows: list[Row], runs: int) -> float:
    """Reading B in a table that is there already."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE lane (id, enqueue_ordinal, created_date, delivery_sequence)")
    connection.executemany(
        "INSERT INTO lane VALUES (?, ?, ?, ?)", ((r.id, r.ordinal, r.created, r.sequence) for r in rows)
    )
    return seconds(lambda: connection.execute(replay_statement()).fetchall(), runs=runs)


def by_graphlib(rows: list[Row]) -> list[Row]:
    """The standard library's topological sort; raises on a cycle."""
    before: dict[Row, list[Row]] = {row: [] for row in rows}
    for a, b in combinations(rows, 2):
        first, second = (a, b) if precedes(a, b) else (b, a)
        before[second].append(first)
    return list(TopologicalSorter(before).static_order())


def by_networkx(rows: list[Row]) -> list[Any]:
    """Reading A over all edges: condensation, topological order, ingress inside."""
    return oracle.reading_a(rows)


def table_of_times(sizes: list[int]) -> None:
    columns = (
        "replay B",
        "growth",
        "reading A",
        "reading D",
        "components",
        "has_cycle",
        "verdict",
        "SQLite B",
    )
    for kind in KINDS:
        print(f"\n{kind:<10}" + "".join(f"{column:>12}" for column in columns))
        before: float | None = None
        for size in sizes:
            rows = make(kind, size)
            runs = max(5, min(51, 300_000 // size))
            few = 5 if size <= 100_000 else 1
            replayed = seconds(replay, rows, runs=runs)
            growth = f"{replayed / before:.1f} x" if before else ""
            before = replayed
            rest = [
                seconds(READINGS["A"], rows, runs=few),
                seconds(READINGS["D"], rows, runs=few),
                seconds(components, rows, runs=few),
                seconds(has_cycle, rows, runs=few),
                seconds(verdict, rows, replay(rows), runs=few),
            ]
            if size <= 100_000:
                rest.append(in_sqlite(rows, few))
            print(f"{size:>9,} {replayed:>12.4f}{growth:>12}" + "".join(f"{t:>12.4f}" for t in rest), flush=True)


def table_of_sorts(sizes: list[int]) -> None:
    print("\nfor comparison: list.sort of that many shuffled integers, nothing else")
    before: float | None = None
    for size in sizes:
        dates = [row.created for row in make("shuffled", size)]
        taken = seconds(lambda dates=dates: sorted(dates), runs=5)
        print(f"{size:>9,} {taken:>12.4f}" + (f"{taken / before:>10.1f} x" if before else ""))
        before = taken


def table_of_graphs() -> None:
    print("\nwith every edge (n (n - 1) / 2 of them)      replay B   networkx A   networkx B   graphlib")
    for kind, size in (
        ("acyclic", 500),
        ("acyclic", 1000),
        ("mixed", 150),
        ("mixed", 1000),
    ):
        rows = make("mixed", size)
        if kind == "acyclic":
            rows = [Row(r.id, r.ordinal and r.id + 1, r.created, r.sequence) for r in rows]
        times = [seconds(replay, rows, runs=5), seconds(by_networkx, rows, runs=1)]
        words = [f"{t:>13.4f}" for t in times]
        words.append(f"{seconds(oracle.reading_b, rows, runs=1):>13.4f}" if size <= 150 else f"{'':>13}")
        words.append(f"{seconds(by_graphlib, rows, runs=1):>11.4f}" if kind == "acyclic" else f"{'a cycle':>11}")
        print(f"{kind:<10}{size:>6,} rows {size * (size - 1) // 2:>10,} edges     " + "".join(words), flush=True)


def table_of_memory(sizes: list[int]) -> None:
    print("\npeak memory beside the rows themselves, bytes a row (traced)     replay B   components    verdict")
    for size in sizes:
        rows = make("mixed", size)
        sequence = replay(rows)
        peaks = [peak(replay, rows), peak(components, rows), peak(verdict, rows, sequence)]
        print(f"{size:>9,} {'':<40}" + "".join(f"{most / size:>11.0f}" for most in peaks), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="no lane of a million rows")
    sizes = [1_000, 10_000, 100_000] + ([] if parser.parse_args().quick else [1_000_000])
    versions = f"CPython {platform.python_version()}, SQLite {sqlite3.sqlite_version}, networkx {nx.__version__}"
    print(f"lane order: {versions}, {platform.system()} {platform.machine()}; medians in processor seconds")
    table_of_times(sizes)
    table_of_sorts(sizes)
    table_of_graphs()
    table_of_memory(sizes[1:3])


if __name__ == "__main__":
    main()
