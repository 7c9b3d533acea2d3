"""LanceDB, whose tables `make.py` has made."""

import lancedb
from common import BUCKET, ENDPOINT, FROM, ROW, error_of, main

options = {"aws_endpoint": ENDPOINT, "allow_http": "true"}
db = lancedb.connect(f"s3://{BUCKET}/tables", storage_options=options)


def rows():
    table = db.open_table("lance")
    ids = table.search().where(f"id >= {FROM}").select(["id"]).limit(None).to_arrow()["id"]
    (row,) = table.search().where(f"id = {ROW}").select(["text"]).to_list()
    return [table.count_rows(), sum(ids.to_pylist()), row["text"]]


def nearest():
    """Of vectors in an index."""
    found = db.open_table("vectors").search([7.2, 0.0]).limit(3).to_list()
    return [one["id"] for one in found]


main(
    rows=rows,
    nearest=nearest,
    missing=lambda: error_of(lambda: db.open_table("missing")),
    write=lambda: error_of(lambda: db.create_table("written", [{"id": 1}])),
)
