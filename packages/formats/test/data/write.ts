/** Writes files by the writers of this package, for `check.py`: see CONTRIBUTING.md. */
import fs from 'node:fs';
import path from 'node:path';
import { encodeMds } from '@tiered/formats/mds';
import { encodeNpy, type Dtype } from '@tiered/formats/numpy';
import { encodeExample, encodeRecords, encodeSequenceExample } from '@tiered/formats/tfrecord';
import { encodeTar } from '@tiered/formats/webdataset';
import { featuresOf, tensorflowContent } from '../tensorflow-content.js';

const [root] = process.argv.slice(2);
if (root === undefined) throw new Error('usage: write.ts DIRECTORY');

/** Files by their names. */
type Files = Readonly<Record<string, Uint8Array | string>>;

/** The same examples and sequences that TensorFlow wrote. */
function tfrecordFiles(): Files {
  const examples = tensorflowContent.examples.map((one) =>
    encodeExample(Object.fromEntries(featuresOf(one))),
  );
  const sequences = tensorflowContent.sequences.map(({ context, lists }) => {
    const steps = Object.entries(lists).map(
      ([name, all]) => [name, all.flatMap((step) => [...featuresOf({ step }).values()])] as const,
    );
    return encodeSequenceExample({
      context: Object.fromEntries(featuresOf(context)),
      featureLists: Object.fromEntries(steps),
    });
  });
  return {
    'plain.tfrecord': encodeRecords(examples),
    'gzip.tfrecord': encodeRecords(examples, { compression: 'gzip' }),
    'zlib.tfrecord': encodeRecords(examples, { compression: 'zlib' }),
    'sequences.tfrecord': encodeRecords(sequences),
  };
}

/** Shards, and what is in them as JSON with the parts as hex. */
function webdatasetFiles(): Files {
  const names = ['a', 'dir.x/b', 'größe', 'd/'.repeat(100) + 'long', 'ü'.repeat(80)];
  const samples = names.map((name, i) => ({
    name,
    parts: new Map([
      ['jpg', new Uint8Array(300 * i).fill(i)],
      ['seg.png', Uint8Array.of(i, 255)],
    ]),
  }));
  const content = samples.map(({ name, parts }) => ({
    name,
    parts: Object.fromEntries(
      Array.from(parts, ([part, bytes]) => [part, Buffer.from(bytes).toString('hex')]),
    ),
  }));
  return {
    'written.tar': encodeTar(samples),
    'written.tar.gz': encodeTar(samples, { compression: 'gzip' }),
    'written.json': JSON.stringify(content),
  };
}

/** Shards, and what is in them as `make_mds.py` writes it. */
function mdsFiles(): Files {
  const columns = {
    text: 'str',
    data: 'bytes',
    about: 'json',
    id: 'int',
    small: 'uint8',
    half: 'float16',
    any: 'ndarray',
    fixed: 'ndarray:int16:1,2',
  };
  const samples = [0, 1, 2].map((i) => ({
    text: ['', 'größe 😀', 'x'.repeat(300)][i],
    data: Uint8Array.of(i, 255),
    about: { i, list: [null, 'ü'] },
    id: -(2n ** 63n) + BigInt(i),
    small: 253 + i,
    half: i + 0.5,
    any: { data: new Float64Array(300 * (i + 1)).fill(i), shape: [1, 300 * (i + 1)], dtype: 'float64' },
    fixed: { data: Int16Array.of(-i, i), shape: [1, 2], dtype: 'int16' },
  }));
  const hex = ({ buffer, byteOffset, byteLength }: ArrayBufferView) =>
    Buffer.from(new Uint8Array(buffer, byteOffset, byteLength)).toString('hex');
  const content = samples.map((sample) => ({
    ...sample,
    data: { hex: hex(sample.data) },
    id: { int: String(sample.id) },
    half: { float: String(sample.half) },
    any: { ...sample.any, data: undefined, hex: hex(sample.any.data) },
    fixed: { ...sample.fixed, data: undefined, hex: hex(sample.fixed.data) },
  }));
  return {
    'written.mds': encodeMds(samples, columns),
    'written.mds.gz': encodeMds(samples, columns, { compression: 'gzip' }),
    'written.json': JSON.stringify(content),
  };
}

/** An array of each dtype, with 0, 1, 2 and so on in it. */
function numpyFiles(): Files {
  const kept = {
    bool: Uint8Array.of(0, 1, 0, 1, 0, 1),
    int8: Int8Array.of(0, 1, 2, 3, 4, 5),
    uint8: Uint8Array.of(0, 1, 2, 3, 4, 5),
    int16: Int16Array.of(0, 1, 2, 3, 4, 5),
    uint16: Uint16Array.of(0, 1, 2, 3, 4, 5),
    int32: Int32Array.of(0, 1, 2, 3, 4, 5),
    uint32: Uint32Array.of(0, 1, 2, 3, 4, 5),
    int64: BigInt64Array.of(0n, 1n, 2n, 3n, 4n, 5n),
    uint64: BigUint64Array.of(0n, 1n, 2n, 3n, 4n, 5n),
    float16: Float32Array.of(0, 1, 2, 3, 4, 5),
    float32: Float32Array.of(0, 1, 2, 3, 4, 5),
    float64: Float64Array.of(0, 1, 2, 3, 4, 5),
  };
  const arrays = Object.entries(kept).map(([dtype, data]) => [
    `${dtype}.npy`,
    encodeNpy({ data, shape: [3, 2], dtype: dtype as Dtype }),
  ]);
  const labels = { data: kept.int64, shape: [6], dtype: 'int64' } as const;
  const scalar = { data: Float64Array.of(0.5), shape: [], dtype: 'float64' } as const;
  return {
    ...(Object.fromEntries(arrays) as Files),
    'labels.npy': encodeNpy(labels),
    'scalar.npy': encodeNpy(scalar),
  };
}

/** What each format writes, by the name of its folder. */
const FILES: Readonly<Record<string, Files>> = {
  mds: mdsFiles(),
  numpy: numpyFiles(),
  tfrecord: tfrecordFiles(),
  webdataset: webdatasetFiles(),
};

for (const [format, files] of Object.entries(FILES)) {
  fs.mkdirSync(path.join(root, format), { recursive: true });
  for (const [name, bytes] of Object.entries(files)) fs.writeFileSync(path.join(root, format, name), bytes);
}
