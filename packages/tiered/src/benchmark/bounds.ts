import type { Clock, ObjectStat, StorageDriver } from '@tiered/core';
import { IoThreads, native } from '@tiered/native';
import { rateOf, type Budget, type Lane } from '@tiered/simulator/calibration';
import fs from 'node:fs';
import { realpath } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Bound, Speed } from './result.js';

/** How bounds are measured. */
export interface Measuring {
  readonly clock: Clock;
  /** Of all tries of one bound. */
  readonly budget: Budget;
  readonly signal: AbortSignal;
}

/** Tries of each bound. The median of three is right even if one is wrong. */
const TRIES = 3;
/** Bytes of one operation, so that its own cost hardly counts. */
const STEP_BYTES = 4 * 2 ** 20;
/** More than caches of processors have. */
const OUT_OF_CACHE_BYTES = 128 * 2 ** 20;

/** What copying in memory gives, of objects that are not in the caches of a processor. */
export async function memoryBound(objects: readonly ObjectStat[], measuring: Measuring): Promise<Bound> {
  const most = Math.max(OUT_OF_CACHE_BYTES, ...objects.map(({ size }) => size));
  // Filled, so that both are there.
  const [from, to] = [new Uint8Array(most).fill(1), new Uint8Array(most).fill(2)];
  let [taken, at] = [0, 0];
  const next = async () => {
    let bytes = 0;
    while (bytes < STEP_BYTES) {
      const { size = most } = objects[taken++ % objects.length] ?? {};
      if (at + size > most) at = 0;
      to.set(from.subarray(at, at + size), at);
      at += size;
      bytes += size;
    }
    return bytes;
  };
  return { by: 'copying in memory', ...(await speedOf(() => [{ next }], measuring)) };
}

/** What a driver gives by itself. It is open, and stays open. */
export async function driverBound(
  driver: StorageDriver,
  objects: readonly ObjectStat[],
  atATime: number,
  measuring: Measuring,
): Promise<Bound> {
  const lanes = () => {
    let taken = 0;
    const next = async () => {
      measuring.signal.throwIfAborted();
      const { key = '', size = 0 } = objects[taken++ % objects.length] ?? {};
      const read = await driver.read(key, { offset: 0, length: size, signal: measuring.signal });
      return read.byteLength;
    };
    return Array.from({ length: atATime }, () => ({ next }));
  };
  return { by: 'its driver alone', ...(await speedOf(lanes, measuring)) };
}

/**
 * What reading files gives without any driver: one thread with `fs.readSync`, or native threads, one for each
 * core, whichever is faster.
 */
export async function fileBound(
  root: string,
  objects: readonly ObjectStat[],
  measuring: Measuring,
): Promise<Bound> {
  const directory = await realpath(root);
  const budget = { ms: measuring.budget.ms / 2, bytes: measuring.budget.bytes / 2 };
  const blocking = await speedOf(() => [blockingLane(directory, objects)], { ...measuring, budget });
  if (!native().available) return { by: 'reading the files, one thread', ...blocking };
  const threads = os.availableParallelism();
  const io = new IoThreads({ root: directory, threads, clock: measuring.clock });
  try {
    const native = await speedOf(() => [nativeLane(io, objects)], { ...measuring, budget });
    return native.MBps > blocking.MBps
      ? { by: `reading the files, ${threads} native threads`, ...native }
      : { by: 'reading the files, one thread', ...blocking };
  } finally {
    await io.close();
  }
}

/** Opens, reads and closes a file after the other, in this thread. */
function blockingLane(directory: string, objects: readonly ObjectStat[]): Lane {
  const target = new Uint8Array(Math.max(...objects.map(({ size }) => size)));
  let taken = 0;
  const next = async () => {
    const { key = '', size = 0 } = objects[taken++ % objects.length] ?? {};
    const file = fs.openSync(path.join(directory, key), 'r');
    try {
      let read = 0;
      for (let more = 1; read < size && more > 0; read += more)
        more = fs.readSync(file, target, read, size - read, read);
      return read;
    } finally {
      fs.closeSync(file);
    }
  };
  return { next };
}

function nativeLane(io: IoThreads, objects: readonly ObjectStat[]): Lane {
  const most = Math.max(STEP_BYTES, ...objects.map(({ size }) => size));
  const memory = new Uint8Array(new SharedArrayBuffer(most));
  let taken = 0;
  const next = async () => {
    const batch = [];
    for (let filled = 0; batch.length < objects.length; taken++) {
      const { key = '', size = 0 } = objects[taken % objects.length] ?? {};
      if (filled + size > most) break;
      batch.push({ key, offset: 0, target: memory.subarray(filled, filled + size) });
      filled += size;
    }
    const { outcomes } = await io.readMany(batch);
    return outcomes.reduce((sum, bytes) => sum + Math.max(0, bytes), 0);
  };
  return { next };
}

/** The median of some tries, each with lanes of its own. */
async function speedOf(lanes: () => readonly Lane[], { clock, budget, signal }: Measuring): Promise<Speed> {
  const one = { ms: budget.ms / TRIES, bytes: budget.bytes / TRIES };
  const rates: number[] = [];
  for (let i = 0; i < TRIES; i++) {
    signal.throwIfAborted();
    rates.push(await rateOf(lanes(), one, clock));
  }
  rates.sort((a, b) => a - b);
  const [lowest = 0, median = 0, highest = 0] = rates;
  return { MBps: median, spread: lowest > 0 ? highest / lowest : Infinity };
}
