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
}

/** Through the SDK. */
export function throughHierarchy(hierarchy: Hierarchy): Access {
  return {
    read: ({ key }) => hierarchy.read(key),
    open: async ({ key }) => {
      const handle = await hierarchy.handle(key);
      return { readInto: (target, offset) => handle.readInto(target, { offset }) };
    },
  };
}

/** From a driver, with no hierarchy in between. */
export function fromDriver(driver: StorageDriver): Access {
  return {
    read: ({ key, size }) => driver.read(key, { offset: 0, length: size }),
    open: async ({ key }) => ({
      readInto: (target, offset) => driver.readInto(key, target, { offset }),
    }),
  };
}
