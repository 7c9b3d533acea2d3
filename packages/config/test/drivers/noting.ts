import { MemoryDriver } from '@tiered/core';
import type { DriverContext, DriverFactory } from '@tiered/core/driver';

/** A driver, and what it was made of. */
interface Made {
  readonly options: unknown;
  readonly context: DriverContext;
  readonly driver: MemoryDriver;
}

/** Every driver that was made, in order. */
export const made: Made[] = [];

/** A driver that takes any options, and notes them. Its schema is written by hand. */
export const driverFactory: DriverFactory = {
  schema: { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } },
  create: (options, context) => {
    const driver = new MemoryDriver({ name: 'noting' });
    made.push({ options, context, driver });
    return driver;
  },
};
