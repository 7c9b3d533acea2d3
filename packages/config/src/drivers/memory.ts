import { MemoryDriver, type MemoryDriverOptions } from '@tiered/core';
import type { DriverFactory } from '@tiered/core/driver';
import os from 'node:os';
import { group, text } from '../fields.js';

const schema = group('options of the driver', {
  name: text('a name', {
    title: 'Name',
    description: 'Name of the driver in messages and metrics. Default: memory.',
  }).optional(),
});

/** `driver: memory`: objects in the memory of the process, bounded by the quota of its tier. */
export const driverFactory: DriverFactory<Pick<MemoryDriverOptions, 'name'>> = {
  schema,
  create: (options) => new MemoryDriver(options),
  capacityBytes: async () => usableMemory(os.totalmem(), process.constrainedMemory()),
};

/**
 * Bytes of memory that a process may use: those of the machine, or fewer if a container sets a limit.
 * @param limit The limit that the system reports. Without a limit it is 0, undefined, or more than any
 * machine has.
 */
export function usableMemory(total: number, limit: number | undefined): number {
  return limit !== undefined && limit > 0 && limit < total ? limit : total;
}
