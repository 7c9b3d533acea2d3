import { group, wholeNumber } from '@tiered/config/fields';
import { MemoryDriver } from '@tiered/core';
import type { DriverFactory } from '@tiered/core/driver';
import { FaultDriver } from '@tiered/core/testing';
import { z } from 'zod';

const schema = group('options of the driver', {
  failures: wholeNumber(0, { title: 'Failures', description: 'So many stats fail before one succeeds.' }),
});

/**
 * A driver with the object `object` of 1000 bytes whose first stats fail, and say that trying again helps.
 */
export const driverFactory: DriverFactory<z.output<typeof schema>> = {
  schema,
  create: ({ failures }) => {
    const memory = new MemoryDriver();
    void memory.write('object', new Uint8Array(1000), { size: 1000 });
    const rules = Array.from({ length: failures }, (_, index) => ({
      operations: ['stat' as const],
      nth: index + 1,
      fault: { kind: 'fail' as const },
    }));
    return new FaultDriver(memory, { rules });
  },
};
