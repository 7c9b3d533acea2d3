"""What encodeRecords, encodeExample and encodeSequenceExample wrote is what TensorFlow reads."""

from pathlib import Path

import tensorflow as tf

from make_tfrecord import COMPRESSIONS, EXAMPLES, SEQUENCES, features, sequence


def check(directory: Path) -> None:
    for name, compression in COMPRESSIONS.items():
        # TensorFlow checks both checksums of each record.
        records = tf.data.TFRecordDataset(str(directory / f"{name}.tfrecord"), compression)
        read = [tf.train.Example.FromString(record.numpy()) for record in records]
        assert read == [tf.train.Example(features=features(one)) for one in EXAMPLES], name
    records = tf.data.TFRecordDataset(str(directory / "sequences.tfrecord"))
    read = [tf.train.SequenceExample.FromString(record.numpy()) for record in records]
    assert read == [sequence(one) for one in SEQUENCES]
