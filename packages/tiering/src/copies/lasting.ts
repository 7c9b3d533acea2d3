import type { Tier } from '@tiered/core';

/**
 * Whether copies on a tier outlive this process. If they do not, an object that is moved up to the tier keeps
 * its slower copy as well, which serves again when the faster one is dropped.
 */
export function isLasting({ driver }: Tier): boolean {
  return driver.capabilities.index || driver.location !== undefined;
}
