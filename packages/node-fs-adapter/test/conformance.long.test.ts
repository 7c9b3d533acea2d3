import fs from 'node:fs/promises';
import path from 'node:path';
import { driverConformance } from '@tiered/core/conformance';
import { FileSystemDriver, type FileSystemDriverOptions } from '@tiered/node-fs-adapter';
import { describe, inject, it } from 'vitest';
import { putFile, temporaryDirectory } from './helpers.js';

async function subject(options: Omit<FileSystemDriverOptions, 'root'>) {
  const directory = await temporaryDirectory();
  const root = path.join(directory, 'root');
  if (options.writable !== true) await fs.mkdir(root);
  const driver = new FileSystemDriver({ root, ...options });
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

describe('FileSystemDriver for reading, in Node’s pool', () => {
  driverConformance({ test: it, factory: () => subject({ nativeThreads: 0 }), wrapped: inject('nightly') });
});
