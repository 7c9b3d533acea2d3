import type { MetricsDriver } from '@tiered/core/decorators';

/** What has reached a driver. */
interface Counts {
  readonly operations: number;
  readonly bytes: number;
}

/** Of all operations together. */
export function countsOf(driver: MetricsDriver): Counts {
  const operations = Object.values(driver.metrics().operations);
  return {
    operations: operations.reduce((sum, { count }) => sum + count, 0),
    bytes: operations.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}
