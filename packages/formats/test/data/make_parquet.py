"""Parquet files by pyarrow, with the rows in them as JSON."""

import base64
import datetime
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

COUNT = 25


def row(i: int) -> dict:
    missing = i % 7 == 3
    return {
        "id": i,
        "big": None if missing else 2**62 + i,
        "weight": i / 4,
        "half": None if missing else i * 0.5,
        "flag": i % 3 == 0,
        "name": None if missing else f"größe {i % 4}",
        "image": bytes(range(i)),
        "day": datetime.datetime(2024, 1, 1 + i, 12, 30, 0, 250000),
        "list": None if missing else [j * 10 for j in range(i % 4)],
        "texts": [["a", None], [], [f"t{i}"]][: i % 4],
        "point": None if missing else {"x": i, "label": None if i % 2 else f"p{i}"},
        "boxes": [{"x": j, "tags": ["u"] * j} for j in range(i % 3)],
        "scores": {f"k{j}": float(j) for j in range(i % 3)},
    }


SCHEMA = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        pa.field("big", pa.int64()),
        pa.field("weight", pa.float64(), nullable=False),
        pa.field("half", pa.float32()),
        pa.field("flag", pa.bool_()),
        pa.field("name", pa.string()),
        pa.field("image", pa.binary()),
        pa.field("day", pa.timestamp("ms")),
        pa.field("list", pa.list_(pa.int32())),
        pa.field("texts", pa.list_(pa.list_(pa.string()))),
        pa.field("point", pa.struct([("x", pa.int32()), ("label", pa.string())])),
        pa.field("boxes", pa.list_(pa.struct([("x", pa.int32()), ("tags", pa.list_(pa.string()))]))),
        pa.field("scores", pa.map_(pa.string(), pa.float64())),
    ]
)
ROWS = [row(i) for i in range(COUNT)]
# Encodings of columns that have no dictionary.
ENCODINGS = {
    "id": "DELTA_BINARY_PACKED",
    "big": "DELTA_BINARY_PACKED",
    "weight": "BYTE_STREAM_SPLIT",
    "name": "DELTA_BYTE_ARRAY",
    "image": "DELTA_LENGTH_BYTE_ARRAY",
    "flag": "RLE",
}
FILES = {
    **{name: {"compression": name} for name in ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]},
    "plain": {"compression": "none", "use_dictionary": False},
    "encodings": {"compression": "snappy", "use_dictionary": False, "column_encoding": ENCODINGS},
    "pages-v2": {"compression": "zstd", "data_page_version": "2.0", "data_page_size": 1, "write_batch_size": 4},
    "encodings-v2": {
        "compression": "none",
        "data_page_version": "2.0",
        "use_dictionary": False,
        "column_encoding": ENCODINGS,
    },
    "checksums": {"compression": "snappy", "write_page_checksum": True, "data_page_size": 1, "write_batch_size": 4},
    "one-group": {"compression": "snappy", "row_group_size": COUNT},
}


def as_json(value):
    """Bytes and times are objects, because JSON has neither. So are integers of 64 bits."""
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, datetime.datetime):
        return {"$date": value.isoformat(timespec="milliseconds") + "Z"}
    if isinstance(value, int) and not isinstance(value, bool) and value >= 2**53:
        return {"$int64": str(value)}
    if isinstance(value, list):
        return [as_json(one) for one in value]
    if isinstance(value, dict):
        return {key: as_json(one) for key, one in value.items()}
    return value


def make(directory: Path) -> None:
    table = pa.Table.from_pylist(ROWS, schema=SCHEMA)
    for name, options in FILES.items():
        # The schema of Arrow is longer than the rows.
        defaults = {"row_group_size": 10, "store_schema": False, "write_statistics": name == "one-group"}
        pq.write_table(table, directory / f"{name}.parquet", **(defaults | options))
    pq.write_table(table.slice(0, 0), directory / "empty.parquet", store_schema=False)
    (directory / "content.json").write_text(json.dumps(as_json(ROWS)) + "\n")
