import fs from 'node:fs/promises';
import path from 'node:path';
import type { Hierarchy, StorageDriver } from '@tiered/core';
import type { DataObject } from './dataset.js';

/** What a loader reads with. */
export interface Access {
  /** A whole object at once. */
  read(object: DataObject): Promise<Uint8Array>;
  /** An object to be read in pieces. */
  open(object: DataObject): Promise<OpenObject>;
}

interface OpenObject {
  readInto(target: Uint8Array, offset: number): Promise<number>;
  close(): Promise<void>;
}

const NOTHING_TO_CLOSE = async () => undefined;

/** Through the SDK. */
export function throughHierarchy(hierarchy: Hierarchy): Access {
  return {
    read: ({ key }) => hierarchy.read(key),
    open: async ({ key }) => {
      const handle = await hierarchy.open(key);
      return { readInto: (target, offset) => handle.readInto(target, { offset }), close: NOTHING_TO_CLOSE };
    },
  };
}

/** From a driver, with no hierarchy in between. */
export function fromDriver(driver: StorageDriver): Access {
  return {
    read: ({ key, size }) => driver.read(key, { offset: 0, length: size }),
    open: async ({ key }) => ({
      readInto: (target, offset) => driver.readInto(key, target, { offset }),
      close: NOTHING_TO_CLOSE,
    }),
  };
}

/** From a directory, as a loader without the SDK would: `readFile`, or reads on a handle that is open for one object. */
export function fromDirectory(directory: string): Access {
  return {
    read: ({ key }) => fs.readFile(path.join(directory, key)),
    open: async ({ key }) => {
      const handle = await fs.open(path.join(directory, key));
      return {
        readInto: async (target, offset) =>
          (await handle.read(target, 0, target.byteLength, offset)).bytesRead,
        close: () => handle.close(),
      };
    },
  };
}
