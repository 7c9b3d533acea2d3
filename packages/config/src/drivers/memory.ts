import { MemoryDriver, type MemoryDriverOptions } from '@tiered/core';
import type { DriverFactory } from '@tiered/core/driver';
import { group, text } from '../fields.js';

const schema = group('options of the driver', {
  name: text('a name', {
    title: 'Name',
    description: 'Name of the driver in messages and metrics. Default: memory.',
  }).optional(),
});

/** `driver: memory`: objects in the memory of the process. What bounds it is the quota of its tier. */
export const driverFactory: DriverFactory<Pick<MemoryDriverOptions, 'name'>> = {
  schema,
  create: (options) => new MemoryDriver(options),
};
