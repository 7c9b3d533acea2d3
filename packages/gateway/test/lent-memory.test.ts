import { systemClock, type Hierarchy } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HierarchyStorage } from '../src/hierarchy/hierarchy-storage.js';
import { ReadWatch } from '../src/hierarchy/levels.js';
import { LEAST_PIECE, PieceMemory } from '../src/hierarchy/piece-memory.js';
import { hierarchyOn, sourceOf } from './helpers.js';

const MIB = 1024 * 1024;
const NEVER = new AbortController().signal;

/** A hierarchy whose objects are on a disk. */
async function onDisk(objects: Readonly<Record<string, Uint8Array>>): Promise<Hierarchy> {
  const root = await mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
  onTestFinished(() => rm(root, { recursive: true }));
  const driver = new FileSystemDriver({ root, writable: true });
  const hierarchy = await hierarchyOn(await sourceOf(objects), { tiers: [{ driver, quota: '64MiB' }] });
  for (const key of Object.keys(objects)) await hierarchy.place(key);
  return hierarchy;
}

/** Opens whole objects. */
function opening(hierarchy: Hierarchy) {
  const watch = new ReadWatch();
  onTestFinished(() => watch.close());
  const memory = new PieceMemory(MIB);
  const parts = {
    hierarchy,
    prefix: '',
    changing: undefined,
    fetches: () => true,
    watch,
    memory,
    clock: systemClock,
    closing: NEVER,
  };
  const storage = new HierarchyStorage(parts);
  const options = { signal: NEVER, onlyIfCached: true };
  return async (key: string) => {
    const object = await storage.stat(key, options);
    if (object === undefined) throw new Error(`there is no ${key}`);
    const range = { start: 0, end: object.size - 1 };
    return storage.open(object, { ...options, range })[Symbol.asyncIterator]();
  };
}

describe('memory of pieces that come from a disk', () => {
  const [one, other] = [someBytes(100_000, 1), someBytes(110_000, 2)];

  it('is used again once the reader has asked for the next piece', async () => {
    const open = opening(await onDisk({ one, other }));
    const reading = await open('one');
    const { value: first } = await reading.next();
    expect(Buffer.compare(first as Uint8Array, one)).toBe(0);
    expect(await reading.next()).toEqual({ done: true, value: undefined });
    const { value: second } = await (await open('other')).next();
    expect(Buffer.compare(second as Uint8Array, other)).toBe(0);
    expect((second as Uint8Array).buffer).toBe((first as Uint8Array).buffer);
  });

  it('[X1] stays as it is if the reader goes away with a piece, which may still be on its way', async () => {
    const open = opening(await onDisk({ one, other }));
    const reading = await open('one');
    const { value: first } = await reading.next();
    await reading.return?.();
    const { value: second } = await (await open('other')).next();
    expect(Buffer.compare(second as Uint8Array, other)).toBe(0);
    expect(Buffer.compare(first as Uint8Array, one)).toBe(0);
  });

  it('has exactly the bytes of each piece of a large object', async () => {
    const large = someBytes(3 * MIB + 70_000, 3);
    const open = opening(await onDisk({ large, one }));
    await (await open('one')).next();
    const pieces: Buffer[] = [];
    const reading = await open('large');
    for (let piece = await reading.next(); piece.done !== true; piece = await reading.next()) {
      expect(piece.value.byteLength).toBeLessThanOrEqual(LEAST_PIECE);
      pieces.push(Buffer.from(piece.value));
    }
    expect(Buffer.compare(Buffer.concat(pieces), large)).toBe(0);
  });
});

describe('PieceMemory', () => {
  it('[X2] keeps no more than 16 MiB for later', () => {
    const memory = new PieceMemory(MIB);
    const lend = () => Array.from({ length: 100 }, () => memory.lend(LEAST_PIECE) ?? new Uint8Array(0));
    const lent = lend();
    for (const bytes of lent) memory.giveBack(bytes);
    const before = new Set(lent.map(({ buffer }) => buffer));
    expect(lend().filter(({ buffer }) => before.has(buffer))).toHaveLength((16 * MIB) / LEAST_PIECE);
  });

  it('lends memory of the length that is asked for, and none that is as cheap to make', () => {
    const memory = new PieceMemory(MIB);
    for (const length of [32 * 1024, 32 * 1024 + 1, 100_000, LEAST_PIECE])
      expect(memory.lend(length)?.byteLength).toBe(length);
    for (const length of [1, 32 * 1024 - 1, LEAST_PIECE + 1]) expect(memory.lend(length)).toBeUndefined();
  });
});
