"""boto3 and the aws command line write below a prefix, and read it again."""

import io
import subprocess
import sys
import tempfile

import boto3
from common import BUCKET, digest, error_of, main

s3 = boto3.client("s3")
# Above 8 MiB it is uploaded in parts, several at a time.
LARGE = bytes(range(256)) * (20 * 4096) + b"end"
KEY = "checkpoints/large"


def aws(*arguments):
    command = [sys.executable, "-m", "awscli", *arguments]
    subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)


def read(key):
    return s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()


def keys():
    return [one["Key"] for one in s3.list_objects_v2(Bucket=BUCKET, Prefix="checkpoints/").get("Contents", [])]


def small():
    s3.put_object(Bucket=BUCKET, Key="checkpoints/small", Body=b"small", ContentType="text/plain")
    return [read("checkpoints/small").decode(), keys()]


def large():
    s3.upload_fileobj(io.BytesIO(LARGE), BUCKET, KEY)
    return [digest(read(KEY)) == digest(LARGE), keys()]


def replaced():
    s3.put_object(Bucket=BUCKET, Key=KEY, Body=b"other")
    return read(KEY).decode()


def copied():
    with tempfile.NamedTemporaryFile() as file:
        file.write(LARGE)
        file.flush()
        aws("s3", "cp", "--no-progress", file.name, f"s3://{BUCKET}/checkpoints/copied")
    return digest(read("checkpoints/copied")) == digest(LARGE)


def removed():
    s3.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": KEY}, {"Key": "checkpoints/small"}]})
    aws("s3", "rm", f"s3://{BUCKET}/checkpoints/copied")
    return keys()


main(
    small=small,
    large=large,
    replaced=replaced,
    copied=copied,
    removed=removed,
    outside=lambda: error_of(lambda: s3.put_object(Bucket=BUCKET, Key="data", Body=b"x")),
)
