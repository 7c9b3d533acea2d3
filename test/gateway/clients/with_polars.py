"""Polars."""

import polars as pl
from common import BUCKET, CSV, ENDPOINT, FROM, ROW, TABLE, error_of, main

options = {"aws_endpoint_url": ENDPOINT, "aws_allow_http": "true"}


def scan(key):
    return pl.scan_parquet(f"s3://{BUCKET}/{key}", storage_options=options)


def rows(key):
    table = scan(key)
    ids = table.filter(pl.col("id") >= FROM).select(pl.col("id").sum())
    return [
        table.select(pl.len()).collect().item(),
        ids.collect().item(),
        table.slice(ROW, 1).select("text").collect().item(),
    ]


main(
    rows=lambda: rows(TABLE),
    dataset=lambda: rows("tables/*.parquet"),
    csv=lambda: pl.read_csv(f"s3://{BUCKET}/{CSV}", storage_options=options).height,
    missing=lambda: error_of(lambda: scan("tables/missing.parquet").collect()),
    write=lambda: error_of(
        lambda: pl.LazyFrame({"id": [1]}).sink_parquet(f"s3://{BUCKET}/written.parquet", storage_options=options)
    ),
)
