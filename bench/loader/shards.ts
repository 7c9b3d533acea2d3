import { encodeRecords } from '@tiered/formats/tfrecord';
import { encodeTar } from '@tiered/formats/webdataset';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Samples of one size, in shards of three formats. */
export interface Case {
  readonly bytes: number;
  readonly samples: number;
}

const SHARDS = 16;

/** Writes the same samples as raw records, as TFRecord and as WebDataset shards, each in a directory. */
export async function writeShards({ bytes, samples }: Case, directory: string): Promise<void> {
  for (const format of ['raw', 'tfrecord', 'tar'])
    await mkdir(path.join(directory, format), { recursive: true });
  const each = samples / SHARDS;
  for (let shard = 0; shard < SHARDS; shard++) {
    const records = Array.from({ length: each }, (_, i) => recordOf(shard * each + i, bytes));
    const name = String(shard).padStart(3, '0');
    const write = (format: string, content: Uint8Array) =>
      writeFile(path.join(directory, format, `${name}.${format}`), content);
    await write('raw', Buffer.concat(records));
    await write('tfrecord', encodeRecords(records));
    const named = records.map((record, i) => ({
      name: `${name}-${String(i).padStart(7, '0')}`,
      parts: new Map([['bin', record]]),
    }));
    await write('tar', encodeTar(named));
  }
}

function recordOf(sample: number, bytes: number): Uint8Array {
  const record = new Uint8Array(bytes).fill(sample % 251);
  new DataView(record.buffer).setUint32(0, sample);
  return record;
}
