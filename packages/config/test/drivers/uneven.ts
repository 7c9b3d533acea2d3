import { MemoryDriver } from '@tiered/core';
import type { DriverFactory } from '@tiered/core/driver';
import { FaultDriver } from '@tiered/core/testing';

/**
 * A driver with the object `object` of 1000 bytes, whose fifth request to read takes 100 ms. Its schema is
 * written by hand.
 */
export const driverFactory: DriverFactory = {
  schema: { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } },
  create: (_, { clock }) => {
    const memory = new MemoryDriver();
    void memory.write('object', new Uint8Array(1000), { size: 1000 });
    const fault = { kind: 'delay', ms: 100 } as const;
    return new FaultDriver(memory, { rules: [{ operations: ['read', 'readInto'], nth: 5, fault }], clock });
  },
};
