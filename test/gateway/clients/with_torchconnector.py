"""S3 Connector for PyTorch."""

import os

from common import BUCKET, ENDPOINT, MISSING, digest, error_of, main, parts, wholes
from s3torchconnector import S3ClientConfig, S3MapDataset, S3ReaderConstructor

options = {
    "region": os.environ["AWS_REGION"],
    "endpoint": ENDPOINT,
    "s3client_config": S3ClientConfig(force_path_style=True, max_attempts=1),
}


def objects(keys, **more):
    return S3MapDataset.from_objects([f"s3://{BUCKET}/{key}" for key in keys], **options, **more)


def read_part(key, start, length):
    file = objects([key], reader_constructor=S3ReaderConstructor.range_based())[0]
    file.seek(start)
    return file.read(length)


def images():
    dataset = S3MapDataset.from_prefix(f"s3://{BUCKET}/images/", **options)
    return sorted(digest(dataset[i].read()) for i in range(len(dataset)))


main(
    images=images,
    wholes=lambda: wholes(lambda key: objects([key])[0].read()),
    parts=lambda: parts(read_part),
    missing=lambda: error_of(lambda: objects([MISSING])[0].read()),
)
