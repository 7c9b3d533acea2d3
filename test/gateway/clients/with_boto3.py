"""boto3."""

import io

import boto3
from common import BUCKET, KEYS, LARGE, MISSING, digest, error_of, main, parts, wholes

s3 = boto3.client("s3")


def pages(operation, **options):
    return s3.get_paginator(operation).paginate(Bucket=BUCKET, PaginationConfig={"PageSize": 7}, **options)


def listed(operation):
    return [one for page in pages(operation) for one in page["Contents"]]


def folders():
    return [one["Prefix"] for page in pages("list_objects_v2", Delimiter="/") for one in page.get("CommonPrefixes", [])]


def read(key, **options):
    return s3.get_object(Bucket=BUCKET, Key=key, **options)["Body"].read()


def read_part(key, start, length):
    return read(key, Range=f"bytes={start}-{start + length - 1}")


def download():
    """Several ranges at a time, by threads."""
    target = io.BytesIO()
    s3.download_fileobj(BUCKET, LARGE, target)
    return digest(target.getvalue())


main(
    keys=lambda: [one["Key"] for one in listed("list_objects_v2")],
    sizes=lambda: [one["Size"] for one in listed("list_objects")],
    folders=folders,
    heads=lambda: [s3.head_object(Bucket=BUCKET, Key=key)["ContentLength"] for key in KEYS],
    etags=lambda: [one["ETag"] == s3.head_object(Bucket=BUCKET, Key=one["Key"])["ETag"] for one in listed("list_objects_v2")],
    wholes=lambda: wholes(read),
    parts=lambda: parts(read_part),
    large=download,
    missing=lambda: error_of(lambda: read(MISSING)),
    write=lambda: error_of(lambda: s3.put_object(Bucket=BUCKET, Key="written", Body=b"data")),
    delete=lambda: error_of(lambda: s3.delete_object(Bucket=BUCKET, Key=LARGE)),
)
