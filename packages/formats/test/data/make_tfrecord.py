"""TFRecord shards by TensorFlow, with the examples in them as JSON."""

import json
from pathlib import Path

import tensorflow as tf

COMPRESSIONS = {"plain": "", "gzip": "GZIP", "zlib": "ZLIB"}


def feature(kind: str, values: list) -> tf.train.Feature:
    if kind == "bytes":
        values = [bytes.fromhex(value) for value in values]
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if kind == "float":
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[int(value) for value in values]))


def features(of: dict) -> tf.train.Features:
    return tf.train.Features(feature={name: feature(*value) for name, value in of.items()})


# Kind and values of each feature. Integers are texts and bytes are hex, because JSON has neither.
EXAMPLES = [
    {"image": ["bytes", [bytes(range(40 * i)).hex()]], "label": ["int64", [str(i)]], "weights": ["float", [i / 2, -1.5]]}
    for i in range(4)
] + [
    {"größe": ["int64", [str(-(2**63)), str(2**63 - 1), "0"]], "none": ["float", []], "two": ["bytes", ["00ff", ""]]},
    {},
]

SEQUENCES = [
    {"context": {"id": ["int64", ["7"]]}, "lists": {"words": [["bytes", ["61"]], ["bytes", ["62", "63"]]], "none": []}},
    {"context": {}, "lists": {"scores": [["float", [0.5]], ["float", []]]}},
]


def sequence(of: dict) -> tf.train.SequenceExample:
    lists = {
        name: tf.train.FeatureList(feature=[feature(*step) for step in steps]) for name, steps in of["lists"].items()
    }
    return tf.train.SequenceExample(
        context=features(of["context"]), feature_lists=tf.train.FeatureLists(feature_list=lists)
    )


def make(directory: Path) -> None:
    messages = [tf.train.Example(features=features(one)).SerializeToString(deterministic=True) for one in EXAMPLES]
    for name, compression in COMPRESSIONS.items():
        with tf.io.TFRecordWriter(str(directory / f"{name}.tfrecord"), compression) as writer:
            for message in messages:
                writer.write(message)
    with tf.io.TFRecordWriter(str(directory / "sequences.tfrecord")) as writer:
        for one in SEQUENCES:
            writer.write(sequence(one).SerializeToString(deterministic=True))
    content = {"examples": EXAMPLES, "sequences": SEQUENCES}
    (directory / "content.json").write_text(json.dumps(content, indent=1) + "\n")
