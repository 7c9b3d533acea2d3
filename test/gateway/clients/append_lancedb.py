"""LanceDB: a reader through the gateway, and a writer at the source, of one table."""

import os

import lancedb
from common import BUCKET, ENDPOINT, main


def connect(endpoint):
    options = {"aws_endpoint": endpoint, "allow_http": "true"}
    return lancedb.connect(f"s3://{BUCKET}/tables", storage_options=options)


reader = connect(ENDPOINT)
writer = connect(os.environ["SOURCE_ENDPOINT"])
table = reader.open_table("lance")


def append(ids):
    rows = [{"id": i, "noise": 0.5, "text": f"row {i}"} for i in ids]
    writer.open_table("lance").add(rows)


def seen():
    """By a table that is open, and by one that is opened now."""
    table.checkout_latest()
    anew = reader.open_table("lance")
    return [table.count_rows(), anew.count_rows(), sorted(one["id"] for one in anew.search().where("id >= 100000").to_list())]


def replaced():
    """The table is made anew, with its first version."""
    writer.create_table("lance", [{"id": 100_000, "noise": 0.5, "text": "new"}], mode="overwrite")
    return reader.open_table("lance").count_rows()


def created():
    writer.create_table("later", [{"id": 1}])
    return reader.open_table("later").count_rows()


def dropped():
    writer.drop_table("later")
    try:
        return reader.open_table("later").count_rows()
    except Exception as error:
        return type(error).__name__


main(
    before=lambda: table.count_rows(),
    once=lambda: append([100_000]) or seen(),
    twice=lambda: append([100_001, 100_002]) or seen(),
    replaced=replaced,
    created=created,
    dropped=dropped,
)
