import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { systemClock } from '@tiered/core';
import type { ReadRequest } from '@tiered/core/driver';
import { describe, it, onTestFinished } from 'vitest';
import { compile, INSTALL } from '../src-c/compile.js';
import { failureOf, IoThreads, type IoThreadsOptions } from '../src/index.js';

/** Why the addon cannot be there, with what to do about it; `undefined` if it is. */
const missing = await whyMissing();

async function whyMissing(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'the native part is for Linux only';
  if (process.env['TIERED_NATIVE'] === '0') return 'TIERED_NATIVE=0 turns it off';
  if (process.env['TIERED_NATIVE'] !== undefined) return undefined;
  try {
    await compile();
    return undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return `there is no C compiler: ${INSTALL}`;
    throw error;
  }
}

/**
 * Registers tests that need the addon, which is compiled if it has to be. Where it cannot be, there is one
 * skipped test instead that says why; with `CI=true` it fails.
 */
export function describeNative(name: string, register: () => void): void {
  describe(name, () => {
    if (missing === undefined) register();
    else if (process.env['CI'] === 'true')
      it(`needs the addon: ${missing}`, () => Promise.reject(new Error(missing)));
    else it.skip(`needs the addon: ${missing}`);
  });
}

/** A directory of the test's own, as a real path. */
export function temporaryDirectory(): string {
  const directory = path.join(fs.realpathSync(os.tmpdir()), `tiered-native-${randomUUID()}`);
  fs.mkdirSync(directory);
  onTestFinished(() => fs.rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Threads on a new directory, closed when the test ends. */
export function threadsOn(root: string, options: Partial<IoThreadsOptions> = {}): IoThreads {
  const io = new IoThreads({ root, ...options });
  onTestFinished(() => io.close());
  return io;
}

/** A new target; in shared memory or not. */
export function targetOf(length: number, isShared = true): Uint8Array {
  const buffer = isShared ? new SharedArrayBuffer(length) : new ArrayBuffer(length);
  return new Uint8Array(buffer);
}

/** A read of a whole file into memory of its own. */
export function readOf(key: string, length = 16, more: Partial<ReadRequest> = {}): ReadRequest {
  return { key, offset: 0, target: targetOf(length), ...more };
}

/** What reads came to: the number of bytes, or the code of a failure. */
export async function outcomesOf(
  io: IoThreads,
  requests: readonly ReadRequest[],
): Promise<(number | string)[]> {
  return explained((await io.readMany(requests)).outcomes);
}

/** Outcomes with codes in the place of numbers below 0. */
export function explained(outcomes: Float64Array): (number | string)[] {
  return Array.from(outcomes, (outcome) => (outcome < 0 ? failureOf(outcome) : outcome));
}

/** The version of a file, as the file system driver says it. */
export function versionOf(file: string): string {
  const { mtimeNs, size, ino } = fs.statSync(file, { bigint: true });
  return [mtimeNs, size, ino].map((number) => number.toString(36)).join('-');
}

/** Lets the event loop turn until something is so. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await systemClock.turn();
}

/** What this process has open, as the system calls it. */
export function openFiles(): string[] {
  return fs.readdirSync('/proc/self/fd').map((fd) => readLink(`/proc/self/fd/${fd}`));
}

function readLink(name: string): string {
  try {
    return fs.readlinkSync(name);
  } catch {
    // It was the directory itself.
    return '';
  }
}
