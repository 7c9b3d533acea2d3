import type { SampleFormat } from '@tiered/formats';

/** Bytes of a sample. */
export const RECORD = 8;

/** A record that says which it is. */
export function recordBytes(object: number, record: number): Uint8Array {
  const bytes = new Uint8Array(RECORD);
  new DataView(bytes.buffer).setUint32(0, object);
  new DataView(bytes.buffer).setUint32(4, record);
  return bytes;
}

/** Samples of which `each` are in a record, and cannot be read singly. */
export function grouped(each: number): SampleFormat<Uint8Array> {
  return {
    name: 'grouped',
    options: { each },
    needsNoIndex: true,
    index: ({ size }) => {
      const samples = size / RECORD;
      const records = Math.ceil(samples / each);
      const countOf = (i: number) => Math.min(each, samples - i * each);
      const of = (value: (i: number) => number) => Float64Array.from({ length: records }, (_, i) => value(i));
      return Promise.resolve({
        offsets: of((i) => i * each * RECORD),
        lengths: of((i) => countOf(i) * RECORD),
        samples: Uint32Array.from({ length: records }, (_, i) => countOf(i)),
      });
    },
    decode: ({ bytes }) =>
      Array.from({ length: bytes.byteLength / RECORD }, (_, i) =>
        bytes.subarray(i * RECORD, (i + 1) * RECORD),
      ),
  };
}
