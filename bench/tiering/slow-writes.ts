import type { StorageDriver } from '@tiered/core';
import { ThrottleDriver } from '@tiered/core/decorators';
import type { DriverCall } from '@tiered/core/driver';

/** A tier that is slow to write and fast to read. */
export class SlowWrites extends ThrottleDriver {
  constructor(inner: StorageDriver, bytesPerSecond: number) {
    super(inner, { bytesPerSecond });
  }

  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    const isWrite = call.operation === 'write' || call.operation === 'writeAt';
    return isWrite ? super.intercept(call) : call.proceed();
  }
}
