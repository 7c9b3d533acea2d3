import { BlockList } from 'node:net';
import { describe, expect, it } from 'vitest';
import { toSend } from '../src/workers/transfer.js';

/** What the other thread gets. */
function received(value: unknown, isOwn: boolean): unknown {
  const { data, transfer } = toSend(value, isOwn);
  return structuredClone(data, { transfer: [...transfer] });
}

function inSharedMemory(...bytes: number[]): Uint8Array {
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  return shared;
}

class Sample {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

describe('what a thread made', () => {
  it('[D13] is whole there, and stays whole here', () => {
    const constant = Float32Array.of(1, 2);
    const value = {
      constant,
      list: [constant, Buffer.from('bytes'), new DataView(Uint8Array.of(5, 6).buffer, 1)],
      map: new Map<unknown, unknown>([['a', Int16Array.of(3)]]),
      set: new Set([BigInt64Array.of(4n)]),
      deep: [[[[[[Uint8Array.of(7)]]]]]],
      other: [new Date(5), /x/u, new Error('said'), 'text', null, undefined, 3n, {}, new BlockList()],
      memory: Uint8Array.of(8).buffer,
      json: JSON.parse('{ "__proto__": { "a": 1 }, "b": 2 }') as unknown,
    };
    for (let i = 0; i < 3; i++) expect(received(value, false)).toEqual(structuredClone(value));
    expect([...constant]).toEqual([1, 2]);
  });

  it('[D13] is no view on memory that is used again, wherever it is within', () => {
    const shared = inSharedMemory(1, 2, 3, 4);
    const view = () => shared.subarray(1, 3);
    const value = [
      view(),
      { a: new DataView(shared.buffer, 1, 2) },
      new Map([[1, view()]]),
      new Set([view()]),
      new Sample(view()),
    ];
    for (const isOwn of [false, true]) {
      const expected = structuredClone([
        Uint8Array.of(2, 3),
        { a: new DataView(Uint8Array.of(2, 3).buffer) },
        new Map([[1, Uint8Array.of(2, 3)]]),
        new Set([Uint8Array.of(2, 3)]),
        { bytes: Uint8Array.of(2, 3) },
      ]);
      const got = received(value, isOwn);
      shared.fill(9);
      expect(got).toEqual(expected);
      shared.set([1, 2, 3, 4]);
    }
  });

  it('is handed over where nobody else has it, and copied where it is a part of more', () => {
    const [whole, part] = [Float32Array.of(1, 2), new Uint8Array(100).subarray(50, 58)];
    const { data, transfer } = toSend({ whole, part, twice: whole }, true);
    expect(data).toMatchObject({ whole, twice: whole });
    expect(transfer.map(({ byteLength }) => byteLength)).toEqual([8, 8]);
    expect(transfer).toContain(whole.buffer);
  });

  it('is sent once where it is there twice, also where it leads back to itself', () => {
    const array = Uint8Array.of(1);
    const list: unknown[] = [array, { array }];
    list.push(list);
    const { data, transfer } = toSend(list, false);
    expect(transfer).toHaveLength(1);
    const [first, { array: second }, itself] = data as [unknown, { array: unknown }, unknown];
    expect([second, itself]).toEqual([first, data]);
    expect(second).toBe(first);
    expect(itself).toBe(data);
  });
});
