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

/** `driver: memory`: objects in the memory of the process. The quota of its tier bounds it. */
export const driverFactory: DriverFactory<Pick<MemoryDriverOptions, 'name'>> = {
  schema,
  create: (options) => new MemoryDriver(options),
  capacityBytes: async () => usableMemory(os.totalmem(), process.constrainedMemory()),
};

/**
 * Bytes of memory that a process may use: those of the machine, or fewer where a container sets a limit.
 * @param limit What the system says. It says 0 or undefined, or more than any machine has, where there is no
 * limit.
 */
export function usableMemory(total: number, limit: number | undefined): number {
  return limit !== undefined && limit > 0 && limit < total ? limit : total;
}
