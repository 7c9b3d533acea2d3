"""DuckDB with its extension httpfs, which a package of PyPI brings."""

import importlib.util
import os
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
from common import BUCKET, CSV, ENDPOINT, FROM, KEYS, ROW, TABLE, error_of, main, wholes

package = Path(importlib.util.find_spec("duckdb_extension_httpfs").origin).parent
(extension,) = package.rglob("httpfs.duckdb_extension")
db = duckdb.connect()
db.execute(f"LOAD '{extension}'")
db.execute(
    f"""CREATE SECRET (TYPE s3, KEY_ID '{os.environ["AWS_ACCESS_KEY_ID"]}',
        SECRET '{os.environ["AWS_SECRET_ACCESS_KEY"]}', REGION '{os.environ["AWS_REGION"]}',
        ENDPOINT '{urlsplit(ENDPOINT).netloc}', USE_SSL false, URL_STYLE 'path')"""
)


def one(query):
    return db.execute(query).fetchone()


def keys():
    found = db.execute(f"SELECT file FROM glob('s3://{BUCKET}/**')").fetchall()
    return sorted((url.removeprefix(f"s3://{BUCKET}/") for (url,) in found), key=lambda key: key.encode())


def read(key):
    return one(f"SELECT content FROM read_blob('s3://{BUCKET}/{key}')")[0]


def rows(path):
    table = f"read_parquet('s3://{BUCKET}/{path}')"
    return [
        *one(f"SELECT count(*) FROM {table}"),
        int(*one(f"SELECT sum(id) FROM {table} WHERE id >= {FROM}")),
        *one(f"SELECT text FROM {table} WHERE id = {ROW}"),
    ]


main(
    keys=keys,
    wholes=lambda: wholes(read),
    rows=lambda: rows(TABLE),
    dataset=lambda: rows("tables/*.parquet"),
    csv=lambda: one(f"SELECT count(*) FROM read_csv('s3://{BUCKET}/{CSV}')")[0],
    missing=lambda: error_of(lambda: rows("tables/missing.parquet")),
    write=lambda: error_of(lambda: db.execute(f"COPY (SELECT 1) TO 's3://{BUCKET}/written.parquet'")),
)
