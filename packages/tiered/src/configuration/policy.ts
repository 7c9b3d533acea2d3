import type { HierarchyOptions } from '@tiered/core';
import { PlacementHandler, type PlacementPolicy } from '@tiered/tiering';

/** The policy of the placement, if it is one of this SDK. */
export function policyOf({ placement }: Pick<HierarchyOptions, 'placement'>): PlacementPolicy | undefined {
  return placement instanceof PlacementHandler ? placement.policy : undefined;
}
