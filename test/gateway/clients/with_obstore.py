"""obstore, which is the object_store of Rust."""

from common import BUCKET, ENDPOINT, LARGE, MISSING, PARTS, digest, error_of, main, parts, wholes
from obstore.store import S3Store

s3 = S3Store(BUCKET, endpoint=ENDPOINT, client_options={"allow_http": True})
found = [one for page in s3.list(chunk_size=7) for one in page]


def read(key):
    return s3.get(key).bytes()


def parts_at_once():
    starts, lengths = zip(*PARTS)
    return [digest(part) for part in s3.get_ranges(LARGE, starts=starts, lengths=lengths)]


main(
    keys=lambda: [one["path"] for one in found],
    sizes=lambda: [one["size"] for one in found],
    folders=lambda: [f"{one}/" for one in s3.list_with_delimiter()["common_prefixes"]],
    wholes=lambda: wholes(read),
    parts=lambda: parts(lambda key, start, length: s3.get_range(key, start=start, length=length)),
    partsAtOnce=parts_at_once,
    missing=lambda: error_of(lambda: read(MISSING)),
    write=lambda: error_of(lambda: s3.put("written", b"data")),
)
