import type { SampleFormat } from '@tiered/formats';

/** Bytes of a sample. */
export const RECORD = 8;

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
