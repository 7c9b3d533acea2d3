"""Parquet files by pyarrow, with values that are easily lost, and with encryption."""

import base64
import datetime
import json
import uuid
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe

CENTS = [Decimal(i) / 100 for i in range(-1000, 9000)]
LONG = [Decimal("3.7500"), Decimal("-1234567890123456789012345678901234.5678"), Decimal("-0.0500"), None]
# Microseconds since 1970.
TIMES = [-1, -1000, -1001, 1, 0, 1700000000123456]


def decimals() -> pa.Table:
    return pa.table(
        {
            "cents": pa.array(CENTS, pa.decimal128(6, 2)),
            "binary": pa.array(CENTS, pa.decimal128(38, 2)),
            "listed": pa.array([[value, None] for value in CENTS], pa.list_(pa.decimal128(10, 2))),
        }
    )


def values() -> pa.Table:
    return pa.table(
        {
            "long": pa.array(LONG, pa.decimal128(38, 4)),
            "int64": pa.array([None, *[Decimal(i).scaleb(-9) for i in [10**17 + 1, -1, 0]]], pa.decimal128(18, 9)),
            "uuid": pa.array([uuid.UUID(int=i).bytes for i in range(4)], pa.uuid()),
            "__proto__": pa.array([1, 2, 3, 4], pa.int32()),
            "struct": pa.array([{"__proto__": i, "a": "b"} for i in range(4)]),
            "map": pa.array([[("__proto__", i), ("key", 7)] for i in range(4)], pa.map_(pa.string(), pa.int32())),
        }
    )


class Kms(pe.KmsClient):
    """Wraps keys by nothing."""

    def __init__(self, _):
        pe.KmsClient.__init__(self)

    def wrap_key(self, key, name):
        return base64.b64encode(key)

    def unwrap_key(self, key, name):
        return base64.b64decode(key)


def write_encrypted(file: Path, **options) -> None:
    config = pe.EncryptionConfiguration(footer_key="footer", encryption_algorithm="AES_GCM_V1", **options)
    properties = pe.CryptoFactory(Kms).file_encryption_properties(pe.KmsConnectionConfig(), config)
    table = pa.table({"secret": [1, 2], "open": ["a", "b"]})
    with pq.ParquetWriter(file, table.schema, encryption_properties=properties, store_schema=False) as writer:
        writer.write_table(table)


def make(directory: Path) -> None:
    pq.write_table(decimals(), directory / "decimals.parquet", store_schema=False, compression="zstd")
    pq.write_table(values(), directory / "values.parquet", store_schema=False)
    for unit in ["us", "ns"]:
        times = pa.array([time * (1000 if unit == "ns" else 1) for time in TIMES], pa.timestamp(unit))
        options = {"use_deprecated_int96_timestamps": unit == "ns"}
        table = pa.table({"plain": times, "listed": pa.array([[time] for time in times], pa.list_(pa.timestamp(unit)))})
        pq.write_table(table, directory / f"times-{unit}.parquet", store_schema=False)
        pq.write_table(table, directory / f"times-{unit}-old.parquet", store_schema=False, version="1.0", **options)
    nulls = pa.table({"id": [1, 2, 3, 4], "none": pa.array([None, None, 5, None], pa.int32())})
    for compression in ["snappy", "gzip", "brotli", "zstd", "lz4"]:
        for page in ["1.0", "2.0"]:
            file = directory / f"nulls-{compression}-{page[0]}.parquet"
            options = {"row_group_size": 2, "data_page_version": page, "store_schema": False}
            pq.write_table(nulls, file, compression=compression, **options)
    write_encrypted(directory / "encrypted.parquet", uniform_encryption=True)
    write_encrypted(directory / "encrypted-column.parquet", column_keys={"column": ["secret"]}, plaintext_footer=True)
    content = {
        "cents": [str(value) for value in CENTS],
        "long": [value and f"{value:f}" for value in LONG],
        "times": TIMES,
    }
    (directory / "content.json").write_text(json.dumps(content) + "\n")
