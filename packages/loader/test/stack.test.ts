import type { SampleSet } from '@tiered/formats';
import { DataLoader, stack, stackEach, type Stacked } from '@tiered/loader';
import { describe, expect, expectTypeOf, it } from 'vitest';

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

describe('as collate, without types that are named', () => {
  const records = (i: number) => ({ x: Float32Array.of(i), y: Uint8Array.of(i) });

  it('stack knows the arrays of the transform', () => {
    const make = (samples: SampleSet<Uint8Array>) =>
      new DataLoader(samples, {
        batchSize: 2,
        transform: (bytes) => Float32Array.from(bytes),
        collate: stack,
      });
    expectTypeOf(make).returns.toExtend<DataLoader<Uint8Array, unknown, Stacked<Float32Array>>>();
  });

  it('stackEach knows the records of the transform', () => {
    const make = (samples: SampleSet<number>) =>
      new DataLoader(samples, { batchSize: 2, transform: records, collate: stackEach });
    type Records = { readonly x: Stacked<Float32Array>; readonly y: Stacked<Uint8Array> };
    expectTypeOf(make).returns.toExtend<DataLoader<number, unknown, Records>>();
  });
});

describe('stackEach', () => {
  it('stacks each array of records and tuples by itself', () => {
    const records = [0, 1, 2].map((i) => ({ x: Float32Array.of(i, i + 1), y: Uint8Array.of(i) }));
    const { x, y } = stackEach(records);
    expect(x).toEqual({ data: Float32Array.of(0, 1, 1, 2, 2, 3), shape: [3, 2] });
    expect(y).toEqual({ data: Uint8Array.of(0, 1, 2), shape: [3, 1] });
    expect(stackEach(records.map((one) => [one.x, one.y] as const))).toEqual([x, y]);
    expectTypeOf(x).toEqualTypeOf<Stacked<Float32Array<ArrayBuffer>>>();
  });

  it.each([
    [{ x: Uint8Array.of(1) }, { y: Uint8Array.of(1) }, 'they are a record of x, and a record of y'],
    [{ x: Uint8Array.of(1) }, { x: Uint8Array.of(1, 2) }, 'x is Uint8Array of 1, and Uint8Array of 2'],
    [{ x: Uint8Array.of(1) }, [Uint8Array.of(1)], 'they are a record of x, and a list of 1'],
    [{ x: 1 }, { x: 1 }, 'x is number, of which no array can be made'],
  ])('says what differs: %j, %j', (first, second, what) => {
    expect(() => stackEach([first, second] as never)).toThrow(`cannot be stacked: ${what}.`);
  });
});
