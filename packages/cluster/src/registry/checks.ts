import { TieredError } from '@tiered/core';
import { assertCounts, configError } from '@tiered/core/internal';
import type { PutOptions, RegistryEntry } from './registry.js';

/** The most bytes of a record as JSON. */
const LARGEST_RECORD = 16 * 1024;
const SHORTEST_TTL_MS = 1000;
const LONGEST_SLOT = 128;

/**
 * Characters that every engine stores unchanged. A slot is a name as well: no path separators, no wildcards.
 */
const OWNER = /^[\x20-\x7e]{1,256}$/;
const SLOT = /^[\w-]+(\.[\w-]+)*$/;

/**
 * Rejects entries that no registry accepts, so that all registries reject the same ones.
 * @returns The record as JSON.
 * @throws TieredError `TIERED_CONFIG_INVALID`, `TIERED_TOO_LARGE`.
 */
export function checkedRecord({ slot, owner, record }: RegistryEntry, { ttlMs }: PutOptions): string {
  assertSlot(slot);
  if (typeof owner !== 'string' || !OWNER.test(owner))
    throw configError('owner', '1 to 256 printable characters of ASCII', owner);
  assertTtl(ttlMs);
  const text = JSON.stringify(record) as string | undefined;
  if (text === undefined) throw configError('record', 'a value that JSON has', record);
  const bytes = Buffer.byteLength(text);
  if (bytes <= LARGEST_RECORD) return text;
  const message = `The record of ${slot} has ${bytes} bytes as JSON; a registry keeps up to ${LARGEST_RECORD}.`;
  throw new TieredError('TIERED_TOO_LARGE', message, { operation: 'put' });
}

/** @throws TieredError `TIERED_CONFIG_INVALID`. */
export function assertTtl(ttlMs: number): void {
  assertCounts({ ttlMs }, SHORTEST_TTL_MS);
}

/** @throws TieredError `TIERED_CONFIG_INVALID`. */
export function assertSlot(slot: string): void {
  if (typeof slot === 'string' && slot.length <= LONGEST_SLOT && SLOT.test(slot)) return;
  throw configError('slot', `1 to ${LONGEST_SLOT} letters, digits, "-" and "_" with dots between them`, slot);
}
