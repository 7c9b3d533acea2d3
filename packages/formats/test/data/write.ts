/** Writes files by the writers of this package, for `check.py`: see CONTRIBUTING.md. */
import fs from 'node:fs';
import path from 'node:path';
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

/** What each format writes, by the name of its folder. */
const FILES: Readonly<Record<string, Files>> = { tfrecord: tfrecordFiles(), webdataset: webdatasetFiles() };

for (const [format, files] of Object.entries(FILES)) {
  fs.mkdirSync(path.join(root, format), { recursive: true });
  for (const [name, bytes] of Object.entries(files)) fs.writeFileSync(path.join(root, format, name), bytes);
}
