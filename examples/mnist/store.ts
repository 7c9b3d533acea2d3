import type { StorageDriver } from '@tiered/core';

/** The store that has the dataset, and that training is to be spared. */
export interface Source {
  /** What it is, for people. */
  readonly about: string;
  /** Makes a driver on it, closed, for one run. */
  readonly connect: () => StorageDriver;
  readonly close: () => Promise<void>;
}
