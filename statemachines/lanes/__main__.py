"""`python -m statemachines.lanes FILE`: the `lane` command by itself."""

import argparse
import sys

from statemachines.lanes.command import add_arguments, run

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="lane", description="Draw a lane and its replay.")
    add_arguments(parser)
    sys.exit(run(parser.parse_args()))
