"""What the scripts of this directory share. Each reads the objects of a bucket by one client, and prints what it got.

Endpoint, keys and region are in the environment, in the variables that the AWS SDKs know. The objects are those of
objects.ts: its constants stand here again.
"""

import hashlib
import json
import os
import sys

BUCKET = "data"
ENDPOINT = os.environ["AWS_ENDPOINT_URL"]
LARGE = "large.bin"
KEYS = ["empty", "images/007.bin", LARGE, "odd/a b+c&é%25;=.txt"]
MISSING = "images/missing.bin"
TABLE = "tables/rows.parquet"
CSV = "tables/rows.csv"
SIZE = 20 * 2**20 + 3
# Where a part begins, and how long it is.
PARTS = [(0, 1), (1000, 4096), (8 * 2**20 - 3, 7), (SIZE - 5, 5)]
# Which rows of the table count, and which one is looked at.
FROM = 90_000
ROW = 54_321


def digest(data):
    return hashlib.sha256(bytes(data)).hexdigest()


def wholes(read, keys=KEYS):
    return {key: digest(read(key)) for key in keys}


def parts(read):
    return [digest(read(LARGE, start, length)) for start, length in PARTS]


def error_of(call):
    """How a call fails: the name of the error and its text, or None."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def main(**ways):
    """Prints what each way gives."""
    json.dump({name: way() for name, way in ways.items()}, sys.stdout)
