import { stack } from '@tiered/loader';
import { describe, expect, it } from 'vitest';

describe('stack', () => {
  it('puts samples one behind the other, in memory of their own', () => {
    const [a, b] = [Float32Array.of(1, 2), Float32Array.of(3, 4)];
    const { data, shape } = stack([a, b]);
    a[0] = 9;
    expect(data).toEqual(Float32Array.of(1, 2, 3, 4));
    expect(shape).toEqual([2, 2]);
  });

  it('stacks Buffers', () => {
    const { data } = stack([Buffer.from('ab'), Buffer.from('cd')]);
    expect(data.toString()).toBe('abcd');
    // That of a pool would be sent whole by a worker.
    expect(data.buffer.byteLength).toBe(4);
  });

  it('refuses samples of different lengths or kinds', () => {
    const differ = [
      [Uint8Array.of(1), Uint8Array.of(1, 2)],
      [Uint8Array.of(1), Int8Array.of(1)],
    ];
    for (const samples of differ)
      expect(() => stack(samples)).toThrow(expect.objectContaining({ code: 'TIERED_DATA_CORRUPT' }));
  });
});
