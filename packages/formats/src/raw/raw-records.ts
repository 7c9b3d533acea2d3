import { parseBytes, type ByteSize } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { damaged, type RawRecord, type SampleFormat } from '../contract/format.js';

/** Options of `rawRecords`. */
export interface RawRecordsOptions {
  /** Bytes of each record: a number, or a size such as `'4KiB'`. */
  readonly recordBytes: ByteSize;
  /** Bytes before the first record of each object, which are left out. Default: 0. */
  readonly headerBytes?: ByteSize | undefined;
}

/**
 * Records of a fixed size, such as CIFAR-10's 3,073 bytes, or blocks of tokens. Nothing is read to index
 * them. A sample is the bytes of its record: a view, which costs nothing.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a size that is not a whole number of bytes, or a record of
 * 0 bytes.
 */
export function rawRecords({ recordBytes, headerBytes = 0 }: RawRecordsOptions): SampleFormat<Uint8Array> {
  const size = parseBytes(recordBytes, 'recordBytes');
  const header = parseBytes(headerBytes, 'headerBytes');
  if (size === 0) throw configError('recordBytes', 'at least 1 byte', recordBytes);
  return {
    name: 'raw-records',
    options: { recordBytes: size, headerBytes: header },
    needsNoIndex: true,
    index: (object, { onDamage }) => {
      const bytes = Math.max(0, object.size - header);
      const records = Math.floor(bytes / size);
      if (records * size !== bytes || object.size < header) {
        onDamage(
          damaged(
            { key: object.key, offset: header + records * size },
            `its last record has ${bytes - records * size} of ${size} bytes`,
            'Give the record size that the objects were written with, or write the object again.',
          ),
        );
      }
      const offsets = Float64Array.from({ length: records }, (_, i) => header + i * size);
      return Promise.resolve({ offsets, lengths: new Float64Array(records).fill(size) });
    },
    decode: ({ bytes }: RawRecord) => [bytes],
  };
}
