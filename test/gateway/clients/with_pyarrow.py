"""The S3 file system of Arrow."""

import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet as pq
from common import BUCKET, ENDPOINT, FROM, LARGE, MISSING, ROW, TABLE, digest, error_of, main, parts, wholes
from pyarrow.fs import FileSelector, FileType, S3FileSystem

s3 = S3FileSystem(endpoint_override=ENDPOINT, check_directory_existence_before_creation=True)


def listed():
    infos = s3.get_file_info(FileSelector(BUCKET, recursive=True))
    files = [(one.path.removeprefix(f"{BUCKET}/"), one.size) for one in infos if one.type == FileType.File]
    return sorted(files, key=lambda one: one[0].encode())


def read(key):
    with s3.open_input_stream(f"{BUCKET}/{key}") as file:
        return file.read()


def read_part(key, start, length):
    with s3.open_input_file(f"{BUCKET}/{key}") as file:
        return file.read_at(length, start)


def rows():
    """By row groups, which are read by threads."""
    with pq.ParquetFile(s3.open_input_file(f"{BUCKET}/{TABLE}"), pre_buffer=True) as file:
        ids = file.read_row_groups([FROM // 10_000], columns=["id"])["id"]
        texts = file.read_row_group(ROW // 10_000, columns=["text"])["text"]
        return [file.metadata.num_rows, pc.sum(ids).as_py(), texts[ROW % 10_000].as_py()]


def rows_of_dataset():
    table = pyarrow.dataset.dataset(f"{BUCKET}/tables", filesystem=s3, format="parquet", exclude_invalid_files=True)
    ids = table.to_table(filter=pc.field("id") >= FROM, columns=["id"])["id"]
    return [table.count_rows(), pc.sum(ids).as_py(), table.take([ROW])["text"][0].as_py()]


def write():
    with s3.open_output_stream(f"{BUCKET}/written") as file:
        file.write(b"data")


main(
    keys=lambda: [key for key, _ in listed()],
    sizes=lambda: [size for _, size in listed()],
    wholes=lambda: wholes(read),
    parts=lambda: parts(read_part),
    large=lambda: digest(read(LARGE)),
    rows=rows,
    dataset=rows_of_dataset,
    missing=lambda: error_of(lambda: read(MISSING)),
    write=lambda: error_of(write),
)
