"""TensorFlow's tf.data. See ways.py."""

import os
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf
from ways import RANDOM, files, main, make_images, write


def records(directory):
    for i in range(4):
        with tf.io.TFRecordWriter(os.path.join(directory, f"{i}.tfrecord")) as writer:
            for _ in range(100):
                writer.write(RANDOM.bytes(1000))


def text(directory):
    for i in range(3):
        write(directory, f"{i}.txt", "".join(f"{i} {line}\n" for line in range(2000)).encode())


def raw(directory):
    for i in range(3):
        write(directory, f"{i}.bin", RANDOM.bytes(50_000))


def interleave(directory):
    return tf.data.Dataset.from_tensor_slices(files(directory)).interleave(
        tf.data.TFRecordDataset, cycle_length=2, num_parallel_calls=2, deterministic=True
    )


def parallel_reads(directory):
    # It gives records as they come.
    return sorted(item.numpy() for item in tf.data.TFRecordDataset(files(directory), num_parallel_reads=3))


def contents(directory):
    return tf.data.Dataset.from_tensor_slices(files(directory)).map(tf.io.read_file, num_parallel_calls=2)


def images(directory):
    return contents(directory).map(lambda content: tf.io.decode_image(content, expand_animations=False))


def cached(directory):
    with tempfile.TemporaryDirectory() as cache:
        dataset = contents(directory).cache(os.path.join(cache, "all"))
        for _ in range(2):
            yield list(dataset)


def snapshot(directory):
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(2):
            yield sorted(item.numpy() for item in interleave(directory).snapshot(cache))


def folder(directory):
    return tf.keras.utils.image_dataset_from_directory(directory, shuffle=False, image_size=(16, 16), verbose=False)


main(
    {
        "TFRecordDataset": (records, lambda directory: tf.data.TFRecordDataset(files(directory))),
        "TFRecordDataset interleave": (records, interleave),
        "TFRecordDataset num_parallel_reads": (records, parallel_reads),
        "TextLineDataset": (text, lambda directory: tf.data.TextLineDataset(files(directory))),
        "FixedLengthRecordDataset": (
            raw,
            lambda directory: tf.data.FixedLengthRecordDataset(files(directory), record_bytes=500),
        ),
        "read_file": (raw, contents),
        "images": (make_images, images),
        "image_dataset_from_directory": (make_images, folder),
        "cache": (raw, cached),
        "snapshot": (records, snapshot),
    }
)
