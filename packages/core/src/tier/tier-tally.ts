import type { Operation } from '../driver/driver.js';
import { isTieredError } from '../support/errors.js';
import type { HierarchyEvents, SafeEmitter } from '../hierarchy/events.js';
import type { Tier, TierUse } from './tier.js';

const READS: ReadonlySet<Operation> = new Set(['read', 'readInto', 'readMany']);

/** Counts and announces the successes and faults of tiers, and updates their health. */
export class TierTally {
  readonly #events: SafeEmitter<HierarchyEvents>;

  constructor(events: SafeEmitter<HierarchyEvents>) {
    this.#events = events;
  }

  /** Records that a tier served a read of so many bytes. */
  served(tier: Tier, bytes: number): void {
    tier.reads += 1;
    tier.readBytes += bytes;
    this.worked(tier, 'read');
  }

  worked(tier: Tier, use: TierUse): void {
    const health = use === 'read' ? tier.reading : tier.writing;
    if (health.succeeded()) this.#events.emit('tierInService', { level: tier.level, use });
  }

  /**
   * Records that a tier failed an operation. A missing copy is announced, but says nothing about the other
   * copies: another process may have evicted it without this process knowing yet.
   */
  fault(tier: Tier, operation: Operation, key: string, error: unknown): void {
    const use = READS.has(operation) ? 'read' : 'write';
    tier.faults += 1;
    this.#events.emit('tierFault', { level: tier.level, operation, key, error });
    if (isTieredError(error, 'TIERED_NOT_FOUND')) return;
    const health = use === 'read' ? tier.reading : tier.writing;
    const retryInMs = health.failed(isTieredError(error, 'TIERED_DEADLINE'));
    if (retryInMs !== undefined) this.#events.emit('tierOutOfService', { level: tier.level, use, retryInMs });
  }
}
