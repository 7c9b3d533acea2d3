import {
  damaged,
  TableBuilder,
  type IndexOptions,
  type RawRecord,
  type RecordTable,
  type SampleFormat,
} from '../contract/format.js';
import type { ObjectWindow } from '../reading/object-window.js';
import { maybeCompressed, type ShardOptions } from '../reading/shards.js';
import { dataLength, dataProblem, FOOTER, HEADER, isHeader } from './frame.js';
import type { ReadRecordsOptions } from './records.js';

/** Options of `tfrecord`. */
export interface TfrecordOptions extends ShardOptions<'gzip' | 'zlib'>, ReadRecordsOptions {}

const ADVICE = 'Write or fetch the shard again.';

/**
 * TFRecord shards. A sample is the data of a record, as a view of what was read: `decodeExample` reads the
 * features in it. To index a shard, only the lengths are read where records are large (256 KiB and more),
 * and all of it where they are small, or where it is compressed. A shard that is cut off exactly between
 * two records cannot be told from a shorter one.
 * @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work.
 */
export function tfrecord({ verify = true, ...options }: TfrecordOptions = {}): SampleFormat<Uint8Array> {
  const shards = maybeCompressed(
    { startBytes: HEADER, isPlain: isHeader, index, decode: (record) => dataOf(record, verify) },
    ['gzip', 'zlib'],
    options,
  );
  return { name: 'tfrecord', ...shards, options: { ...shards.options, verify } };
}

/** Goes from length to length. Behind one that is wrong, nobody knows where the next record is. */
async function index(window: ObjectWindow, { onDamage }: IndexOptions): Promise<RecordTable> {
  const table = new TableBuilder();
  for (let at = 0; at < window.size;) {
    const header = window.peek(at, HEADER) ?? (await window.read(at, HEADER));
    const length = dataLength(header, window.size - at);
    if (typeof length === 'string') {
      onDamage(damaged({ key: window.key, offset: at }, `TFRecord: ${length}`, ADVICE));
      break;
    }
    const bytes = HEADER + length + FOOTER;
    table.add(at, bytes);
    at += bytes;
  }
  return table.build();
}

function dataOf({ key, offset, bytes }: RawRecord, verify: boolean): Uint8Array {
  const at = { key, offset };
  const length = dataLength(bytes, bytes.byteLength);
  if (typeof length === 'string') throw damaged(at, `TFRecord: ${length}`, ADVICE);
  const end = HEADER + length;
  if (end + FOOTER !== bytes.byteLength) {
    throw damaged(
      at,
      `TFRecord: it has ${end + FOOTER} bytes, and the index says ${bytes.byteLength}`,
      ADVICE,
    );
  }
  const problem = verify ? dataProblem(bytes, length) : undefined;
  if (problem !== undefined) throw damaged(at, `TFRecord: ${problem}`, ADVICE);
  return bytes.subarray(HEADER, end);
}
