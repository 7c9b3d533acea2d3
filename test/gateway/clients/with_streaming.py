"""MosaicML Streaming: a StreamingDataset whose shards come from the bucket."""

import os
import tempfile

from common import BUCKET, ENDPOINT, error_of, main
from streaming import StreamingDataset
from streaming.base.util import clean_stale_shared_memory

os.environ["S3_ENDPOINT_URL"] = ENDPOINT


def samples(prefix="mds"):
    clean_stale_shared_memory()
    with tempfile.TemporaryDirectory() as local:
        remote = f"s3://{BUCKET}/{prefix}"
        dataset = StreamingDataset(remote=remote, local=local, shuffle=False, batch_size=1)
        return [[sample["id"], sample["text"]] for sample in dataset]


main(samples=samples, missing=lambda: error_of(lambda: samples("missing")))
