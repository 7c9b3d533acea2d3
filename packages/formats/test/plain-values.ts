import type { NdArray } from '@tiered/formats/mds';

/**
 * A value as the files of `test/data` write it: as JSON, with a name for what that does not have. So memory
 * of any kind compares, and so do numbers that are equal and not the same.
 */
export function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return { hex: hexOf(value) };
  if (typeof value === 'bigint') return { int: String(value) };
  if (isArray(value)) {
    return { dtype: value.dtype, shape: [...value.shape], hex: hexOf(value.data) };
  }
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? { zero: '-0' } : value;
  if ('mode' in value && 'bytes' in value) {
    const { bytes, ...about } = value;
    return { ...about, hex: hexOf(bytes as Uint8Array) };
  }
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]));
}

/** Numbers that the files write as Python does. */
export function withFloats(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withFloats);
  if (typeof value !== 'object' || value === null) return value;
  if ('float' in value) {
    const written = String(value.float);
    return plain(Number(written.replace('inf', 'Infinity').replace('nan', 'NaN')));
  }
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withFloats(one)]));
}

function isArray(value: unknown): value is NdArray {
  return typeof value === 'object' && value !== null && 'dtype' in value && 'data' in value;
}

function hexOf({ buffer, byteOffset, byteLength }: ArrayBufferView): string {
  return Buffer.from(new Uint8Array(buffer, byteOffset, byteLength)).toString('hex');
}
