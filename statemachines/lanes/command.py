"""`onceproof lane FILE`: look at one lane, its cycles and the sequence in which it is replayed."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from itertools import islice
from pathlib import Path
from typing import Any

from statemachines.files import read_bytes
from statemachines.lanes.broken import broken_edges
from statemachines.lanes.components import components
from statemachines.lanes.loading import Lane, load_lane
from statemachines.lanes.membership import members
from statemachines.lanes.picture import picture
from statemachines.lanes.replay import READINGS
from statemachines.lanes.rows import Id, LaneError
from statemachines.lanes.svg import draw_svg
from statemachines.lanes.text import draw_text
from statemachines.plain import plain

_EDGES_AT_MOST = 100_000


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Mount `lane` on the subparsers of a command line; the parsed arguments go to `run`."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "lane",
        help="draw a lane: arrivals, cycles, the sequence replayed and the edges broken",
        description="Draw a lane: arrivals, cycles, the sequence replayed and the edges broken.",
    )
    add_arguments(parser)
    parser.set_defaults(run=run)
    return parser


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `lane`."""
    parser.add_argument("file", metavar="FILE", help="rows as JSON or CSV (see docs/lane-order.md); - reads stdin")
    parser.add_argument("--lane", metavar="NAME", help="which lane, where the file holds several")
    parser.add_argument("--head", metavar="ID", help="only the generation that ends at this row")
    parser.add_argument("--boundary", metavar="ID", help="with --head: the row executed before that generation")
    parser.add_argument("--reading", choices=list(READINGS), default="B", help="how cycles are broken (B is normative)")
    parser.add_argument("--format", choices=["text", "json", "svg"], default="text", help="what to print")


def run(args: argparse.Namespace) -> int:
    """Print the lane; exit status 0, or 2 with one sentence on stderr where the input is bad."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # the drawings need it, whatever the locale says
    try:
        lane = load_lane(_read(args.file), "stdin" if args.file == "-" else args.file, args.lane)
        lane = _generation(lane, args.boundary, args.head)
        if args.format == "json":
            print(_as_json(lane, args.reading))
        else:
            drawn = picture(lane.name, lane.rows, args.reading)
            print(draw_svg(drawn) if args.format == "svg" else draw_text(drawn), end="")
        sys.stdout.flush()
    except LaneError as error:
        print(f"lane: {plain(error)}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, `head` say, has seen enough; keep the interpreter from trying again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _read(file: str) -> str:
    try:
        data = sys.stdin.buffer.read() if file == "-" else read_bytes(Path(file))
        return data.decode("utf-8-sig")
    except OSError as error:
        raise LaneError(f"cannot read {file}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError as error:
        raise LaneError(f"{file} is not UTF-8 text: byte {error.start + 1} fits no character") from None


def _generation(lane: Lane, boundary: str | None, head: str | None) -> Lane:
    """The lane cut down to one generation, if one is asked for."""
    if head is None:
        if boundary is not None:
            raise LaneError("--boundary says where a generation begins; say with --head where it ends")
        return lane
    by_text = {str(row.id): row.id for row in lane.rows}

    def typed(text: str) -> Id:
        return by_text.get(text, text)

    chosen = set(members(lane.rows, None if boundary is None else typed(boundary), typed(head)))
    after = "" if boundary is None else f" after row {boundary}"
    return Lane(f"{lane.name}, generation of row {head}{after}", tuple(r for r in lane.rows if r.id in chosen))


def _as_json(lane: Lane, reading: str) -> str:
    sequence = READINGS[reading](lane.rows)
    broken = list(islice(broken_edges(lane.rows, sequence), _EDGES_AT_MOST + 1))
    answer: dict[str, Any] = {
        "sequence": sequence,
        "components": components(lane.rows),
        "broken": broken[:_EDGES_AT_MOST],
    }
    if len(broken) > _EDGES_AT_MOST:
        answer["broken_is_complete"] = False
        print(f"lane: only the first {_EDGES_AT_MOST} broken edges are listed", file=sys.stderr)
    return json.dumps(answer)
