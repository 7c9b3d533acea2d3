"""Reads files by TensorFlow's tf.data, which gives their bytes as they are.

usage: tf-data.py CALLS LIST [CACHE] < a line for each round. LIST has a path a line. CALLS is how many files are read at the same time,
by as many threads; 0 leaves both to tf.data (AUTOTUNE). With CACHE, a path, tf.data keeps them there from the first round on.
Answers each with a line when it has been done: the bytes that were read.
"""

import sys

import tensorflow as tf

calls, name = int(sys.argv[1]), sys.argv[2]
with open(name) as lines:
    paths = lines.read().splitlines()
files = tf.data.Dataset.from_tensor_slices(paths)
files = files.map(tf.io.read_file, num_parallel_calls=calls or tf.data.AUTOTUNE)
if len(sys.argv) > 3:
    files = files.cache(sys.argv[3])
files = files.prefetch(calls or tf.data.AUTOTUNE)
if calls > 0:
    options = tf.data.Options()
    options.threading.private_threadpool_size = calls
    options.autotune.enabled = False
    files = files.with_options(options)
for _ in sys.stdin:
    epoch = files.as_numpy_iterator()
    print(sum(len(content) for content in epoch), flush=True)
    # Its end waits for the thread that tunes, which sleeps for 10, 20, 40 ms and so on: that is no reading.
    epoch = None
