import { MemoryDriver, type DriverFactory, type MemoryDriverOptions } from '@tiered/core';
import { byteSize, group, text } from '../fields.js';

const schema = group('options of the driver', {
  name: text('a name', {
    title: 'Name',
    description: 'Name of the driver in messages and metrics. Default: memory.',
  }).optional(),
  capacity: byteSize(0, {
    title: 'Capacity',
    description: 'Bytes it takes at most. Default: no bound beside the quota.',
  }).optional(),
});

/** `driver: memory`: objects in the memory of the process. */
export const driverFactory: DriverFactory<MemoryDriverOptions> = {
  schema,
  create: (options) => new MemoryDriver(options),
};
