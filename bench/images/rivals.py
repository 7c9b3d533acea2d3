"""Makes batches of photographs, as trainings have them, by loaders of Python.

usage: rivals.py KIND WORKERS BATCH LIST < a line for each round. LIST has a path a line. KIND is what decodes:
`pillow` or `torchvision` in PyTorch's DataLoader, `tf` or `tf-antialias` in tf.data.
Each photograph: a random part of it (8 to 100 % of its area), resized to 224 x 224 by bilinear interpolation, and mirrored or not.
A batch is one array of bytes. Answers each line with the bytes of all batches.
"""

import os
import sys

KIND, WORKERS, BATCH = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with open(sys.argv[4]) as lines:
    PATHS = lines.read().splitlines()
SIDE = 224


def torch_rounds():
    import torch
    from torch.utils.data import DataLoader, Dataset
    from torchvision import io, transforms

    torch.set_num_threads(1)
    # `antialias` is the default of newer versions.
    crop = transforms.RandomResizedCrop(SIDE, antialias=True)
    if KIND == "pillow":
        from PIL import Image

        def load(path):
            return Image.open(path).convert("RGB")

        transform = transforms.Compose([crop, transforms.RandomHorizontalFlip(), transforms.PILToTensor()])
    else:

        def load(path):
            return io.decode_jpeg(io.read_file(path), io.ImageReadMode.RGB)

        transform = transforms.Compose([crop, transforms.RandomHorizontalFlip()])

    class Photographs(Dataset):
        def __len__(self):
            return len(PATHS)

        def __getitem__(self, index):
            return transform(load(PATHS[index]))

    loader = DataLoader(
        Photographs(), BATCH, shuffle=True, num_workers=WORKERS, persistent_workers=WORKERS > 0
    )
    return lambda: sum(batch.numel() for batch in loader)


def tf_rounds():
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    whole = tf.zeros([1, 0, 4])

    def load(path):
        content = tf.io.read_file(path)
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.image.extract_jpeg_shape(content),
            whole,
            area_range=(0.08, 1.0),
            aspect_ratio_range=(3 / 4, 4 / 3),
            use_image_if_no_bounding_boxes=True,
        )
        window = tf.stack([begin[0], begin[1], size[0], size[1]])
        image = tf.image.decode_and_crop_jpeg(content, window, channels=3)
        image = tf.image.resize(image, [SIDE, SIDE], antialias=KIND == "tf-antialias")
        image = tf.image.random_flip_left_right(image)
        return tf.cast(tf.round(image), tf.uint8)

    data = tf.data.Dataset.from_tensor_slices(PATHS).shuffle(len(PATHS))
    data = data.map(load, num_parallel_calls=WORKERS or tf.data.AUTOTUNE)
    data = data.batch(BATCH).prefetch(tf.data.AUTOTUNE)
    if WORKERS > 0:
        # It would have a thread for each core, and so one read at a time.
        options = tf.data.Options()
        options.threading.private_threadpool_size = WORKERS
        data = data.with_options(options)

    def epoch():
        batches = data.as_numpy_iterator()
        return sum(batch.size for batch in batches)

    return epoch


epoch = tf_rounds() if KIND.startswith("tf") else torch_rounds()
for _ in sys.stdin:
    print(epoch(), flush=True)
