import { inject } from 'vitest';
import { debianWith, pythonOf } from '../../tools/frameworks/environments.js';
import { describeFramework, type Framework } from './frameworks/framework.js';
import { describeShim } from '../../packages/interpose/test/helpers.js';

/** How many files are opened when arrays are read so once. numpy opens a file that it maps three times. */
const ARRAYS = {
  'numpy load': 1,
  'numpy load mmap_mode': 3,
  'numpy load npz': 1,
  'numpy fromfile': 3,
  'numpy memmap': 3,
  h5py: 1,
  open: 3,
  mmap: 3,
  'os.pread': 3,
  'shutil.copyfile': 3,
};

const TORCH = {
  'torch.load': 1,
  'torch.load legacy': 1,
  'torch.from_file': 8,
  'FloatStorage.from_file': 8,
  'DataLoader of files, 0 workers': 8,
  'DataLoader of files, 2 workers': 8,
  'DataLoader of files, 4 workers': 8,
};

const TORCHVISION = {
  'ImageFolder, 0 workers': 8,
  'ImageFolder, 2 workers': 8,
  'ImageFolder, 4 workers': 8,
  'torchvision read_image': 8,
};

/** Debian's packages, which come together. */
const debian = debianWith('torchvision');
// PyPI's PyTorch brings 6.8 GB of libraries for graphics cards, so nobody has to have it.
// TIERED_TORCH_PYTHON names the interpreter of an environment that does.
const torch = process.env['TIERED_TORCH_PYTHON'] ?? '';

const FRAMEWORKS: readonly Framework[] = [
  {
    name: "Debian's PyTorch and torchvision",
    script: 'torch_ways.py',
    python: debian,
    ways: { ...TORCH, ...TORCHVISION },
  },
  {
    name: "Debian's NumPy and h5py",
    script: 'arrays.py',
    python: debian,
    ways: ARRAYS,
  },
  {
    name: 'NumPy and h5py',
    script: 'arrays.py',
    python: pythonOf('tensorflow'),
    ways: ARRAYS,
  },
  {
    name: 'pandas, pyarrow, datasets, webdataset and Pillow',
    script: 'tables.py',
    python: pythonOf('tensorflow'),
    // pyarrow opens a Parquet file once for its schema, and once for its rows.
    ways: {
      'pandas read_csv': 3,
      'pandas read_parquet': 6,
      'pyarrow parquet': 6,
      'pyarrow parquet memory_map': 6,
      'pyarrow dataset': 4,
      'pyarrow feather': 3,
      'pyarrow memory_map': 3,
      'datasets load_from_disk': 5,
      webdataset: 3,
      Pillow: 8,
    },
  },
  {
    name: 'TensorFlow',
    script: 'tensorflow_ways.py',
    python: pythonOf('tensorflow'),
    ways: {
      TFRecordDataset: 4,
      'TFRecordDataset interleave': 4,
      'TFRecordDataset num_parallel_reads': 4,
      TextLineDataset: 3,
      FixedLengthRecordDataset: 3,
      read_file: 3,
      images: 8,
      image_dataset_from_directory: 8,
      cache: 3,
      snapshot: 4,
    },
  },
  {
    name: 'MosaicML Streaming',
    script: 'mosaicml.py',
    python: pythonOf('torch'),
    // The index, and a shard for each sample.
    ways: { StreamingDataset: 201 },
  },
  ...(torch === ''
    ? []
    : [
        {
          name: 'PyTorch',
          script: 'torch_ways.py',
          python: torch,
          ways: { ...TORCH, 'torch.load mmap': 2 },
        },
      ]),
];

describeShim('frameworks that were not changed', () => {
  // The nightly run has all of them.
  for (const framework of inject('nightly') ? FRAMEWORKS : FRAMEWORKS.slice(0, 1))
    describeFramework(framework);
});
