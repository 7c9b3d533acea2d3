import type { Tier } from '@tiered/core';

/**
 * Whether copies on a tier outlive this process. What is moved up to a tier where they do not stays where it was as well, and is served
 * from there again when the faster copy leaves.
 */
export function isLasting({ driver }: Tier): boolean {
  return driver.capabilities.index || driver.location !== undefined;
}
