import { MemoryDriver, type StorageDriver } from '@tiered/core';
import {
  HedgeDriver,
  LimitDriver,
  MetricsDriver,
  PrefixDriver,
  RetryDriver,
  ThrottleDriver,
} from '@tiered/core/decorators';
import {
  bufferedWriter,
  InterceptingDriver,
  type CreateOptions,
  type DriverCall,
  type ObjectWriter,
} from '@tiered/core/driver';
import { FaultDriver, IndexedMemoryDriver } from '@tiered/core/testing';
import { driverConformance } from '@tiered/core/conformance';
import { describe, inject, it } from 'vitest';

/** As a driver that can only write whole objects. */
class WholeObjects extends InterceptingDriver {
  override async create(key: string, options: CreateOptions): Promise<ObjectWriter> {
    options.signal?.throwIfAborted();
    return bufferedWriter(this, key, options);
  }

  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    return call.proceed();
  }
}

const WRAPPERS: Record<string, (inner: StorageDriver) => StorageDriver> = {
  'memory with an index': (inner) => inner,
  bufferedWriter: (inner) => new WholeObjects(inner),
  ThrottleDriver: (inner) => new ThrottleDriver(inner, { bytesPerSecond: '100GB', concurrency: 8 }),
  RetryDriver: (inner) => new RetryDriver(inner),
  LimitDriver: (inner) => new LimitDriver(inner, { concurrency: 2 }),
  PrefixDriver: (inner) => new PrefixDriver(inner, 'datasets/one/'),
  MetricsDriver: (inner) => new MetricsDriver(inner),
  'FaultDriver without rules': (inner) => new FaultDriver(inner, { rules: [] }),
  'HedgeDriver over FaultDriver that delays every third read': (inner) =>
    new HedgeDriver(
      new FaultDriver(inner, {
        rules: [
          {
            operations: ['read', 'readInto'],
            probability: 1 / 3,
            fault: { kind: 'delay', ms: 5 },
          },
        ],
      }),
      { percentile: 0.5, budget: 1 },
    ),
  'RetryDriver over FaultDriver that fails every third read': (inner) =>
    new RetryDriver(
      new FaultDriver(inner, {
        rules: [3, 6, 9, 12].map((nth) => ({
          operations: ['read', 'readInto', 'stat'],
          nth,
          fault: { kind: 'fail' },
        })),
      }),
      { baseDelayMs: 1 },
    ),
};

describe('MemoryDriver', () => {
  driverConformance({ test: it, factory: () => ({ driver: new MemoryDriver() }) });
});

for (const [name, wrap] of Object.entries(WRAPPERS)) {
  describe(name, () => {
    const factory = () => ({ driver: wrap(new IndexedMemoryDriver()) });
    driverConformance({ test: it, factory, wrapped: inject('nightly') });
  });
}
