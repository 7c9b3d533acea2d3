"""s3fs, and fsspec, pandas and Dask, which read through it."""

import dask.dataframe
import fsspec
import pandas
import s3fs
from common import BUCKET, CSV, FROM, LARGE, MISSING, ROW, TABLE, digest, error_of, main, parts, wholes

dask.config.set(scheduler="synchronous")
s3 = s3fs.S3FileSystem()
found = s3.find(BUCKET, detail=True)


def read(key):
    return s3.cat_file(f"{BUCKET}/{key}")


def read_part(key, start, length):
    with s3.open(f"{BUCKET}/{key}", "rb", block_size=2**20) as file:
        file.seek(start)
        return file.read(length)


def read_by_fsspec():
    with fsspec.open(f"s3://{BUCKET}/{LARGE}", "rb") as file:
        return digest(file.read())


def rows(table):
    return [len(table), int(table.id[table.id >= FROM].sum()), table.text[ROW]]


def rows_by_dask():
    table = dask.dataframe.read_parquet(f"s3://{BUCKET}/{TABLE}", split_row_groups=True)
    return rows(table.compute().reset_index(drop=True))


main(
    keys=lambda: [key.removeprefix(f"{BUCKET}/") for key in found],
    sizes=lambda: [one["size"] for one in found.values()],
    wholes=lambda: wholes(read),
    parts=lambda: parts(read_part),
    large=read_by_fsspec,
    rows=lambda: rows(pandas.read_parquet(f"s3://{BUCKET}/{TABLE}")),
    dask=rows_by_dask,
    csv=lambda: len(pandas.read_csv(f"s3://{BUCKET}/{CSV}")),
    missing=lambda: error_of(lambda: read(MISSING)),
    write=lambda: error_of(lambda: s3.pipe_file(f"{BUCKET}/written", b"data")),
)
