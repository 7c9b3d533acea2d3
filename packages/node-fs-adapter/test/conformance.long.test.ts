import fs from 'node:fs/promises';
import path from 'node:path';
import type { OperationOptions } from '@tiered/core';
import { driverConformance } from '@tiered/core/conformance';
import { FileSystemDriver, type FileSystemDriverOptions } from '@tiered/node-fs-adapter';
import { describe, inject, it } from 'vitest';
import { putFile, temporaryDirectory } from './helpers.js';
import { startWorker, TickingClock } from './ticking.js';

/** Reads in worker threads from the beginning. */
class WithWorker extends FileSystemDriver {
  override async open(options: OperationOptions): Promise<void> {
    await super.open(options);
    await startWorker(this);
  }
}

async function subject(options: Omit<FileSystemDriverOptions, 'root'>, Driver = FileSystemDriver) {
  const directory = await temporaryDirectory();
  const root = path.join(directory, 'root');
  if (options.writable !== true) await fs.mkdir(root);
  const driver = new Driver({ root, ...options });
  return {
    driver,
    openResources: () => driver.openFiles,
    cleanUp: () => fs.rm(directory, { recursive: true }),
    ...(options.writable !== true && { put: (key: string, bytes: Uint8Array) => putFile(root, key, bytes) }),
  };
}

describe('FileSystemDriver for writing', () => {
  driverConformance({ test: it, factory: () => subject({ writable: true }) });
});

describe('FileSystemDriver for writing, with fsync, a single file kept open and no reader threads', () => {
  const options = { writable: true, fsync: true, maxOpenFiles: 1, readerThreads: 0 };
  driverConformance({ test: it, factory: () => subject(options), wrapped: inject('nightly') });
});

describe('FileSystemDriver for reading', () => {
  driverConformance({ test: it, factory: () => subject({}), wrapped: inject('nightly') });
});

describe('FileSystemDriver for reading, in worker threads', () => {
  const options = () => ({ nativeThreads: 0, clock: new TickingClock() });
  const factory = () => subject(options(), WithWorker);
  driverConformance({ test: it, factory, wrapped: inject('nightly') });
});
