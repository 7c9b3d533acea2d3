import type { Tier } from '@tiered/core';
import type { PlacementHost } from '@tiered/core/placement';
import pLimit from 'p-limit';
import { tryAgainLater } from './try-again.js';

/** Concurrent deletions. A tier is a disk, and a source may change ten thousand objects at once. */
const DELETES = 16;

/** A copy that could not be deleted: its tier, and how to retry. */
interface Undeleted {
  readonly tier: Tier;
  readonly retry: () => Promise<void>;
  readonly mayBeNothing: boolean;
}

/**
 * Copies that are being deleted from tiers, and copies that could not be deleted. Nothing here rejects. A
 * copy that could not be deleted keeps its bytes, so the deletion is retried in the background, and when its
 * object is read.
 */
export class Removals {
  readonly #host: PlacementHost;
  /** By key, then by level. */
  readonly #underWay = new Map<string, Map<number, Promise<void>>>();
  /** By key, then by `level name`. */
  readonly #undeleted = new Map<string, Map<string, Undeleted>>();
  /** Copies that must not be served again, as `level name`. */
  readonly #doomed = new Set<string>();
  /** Deletions in progress, by `level name`: at most one of each, shared by all callers. */
  readonly #deleting = new Map<string, Promise<void>>();
  /** Bytes of copies that are being deleted, by level. */
  readonly #leaving: number[];
  readonly #deletes = pLimit(DELETES);
  readonly #closing: AbortSignal;
  /** Whether a retry is waiting or in progress. */
  #isTrying = false;

  /** @param closing Once it has aborted, nothing is retried. */
  constructor(host: PlacementHost, closing: AbortSignal) {
    this.#host = host;
    this.#closing = closing;
    this.#leaving = host.tiers.map(() => 0);
  }

  get underWay(): Promise<void>[] {
    return [...this.#underWay.values()].flatMap((ofKey) => [...ofKey.values()]);
  }

  /** Whether a copy of a key is being deleted, or could not be deleted. Retries the failed deletions. */
  isUnderWay(key: string): boolean {
    const undeleted = this.#undeleted.get(key);
    for (const [doom, { tier, retry, mayBeNothing }] of undeleted ?? []) {
      if (!tier.writing.inService) continue;
      this.#forget(key, doom);
      void this.track(key, tier.level, this.#attempt(tier, key, doom, retry, mayBeNothing));
    }
    return undeleted !== undefined || this.#underWay.has(key);
  }

  /** Resolves once no copy of a key is being deleted any more. */
  async ended(key: string): Promise<void> {
    await Promise.all([...(this.#underWay.get(key)?.values() ?? [])]);
  }

  /** Whether this copy, or any copy of its key, is being deleted from a level. */
  isLeaving(key: string, level: number, name: string): boolean {
    return this.#underWay.get(key)?.has(level) === true || this.#doomed.has(doomOf(level, name));
  }

  /** Bytes of copies that are being deleted from a level. */
  bytesLeaving(level: number): number {
    return this.#leaving[level] ?? 0;
  }

  /** Counts bytes that are being deleted from a level; negative once that has ended. */
  count(level: number, bytes: number): void {
    this.#leaving[level] = this.bytesLeaving(level) + bytes;
  }

  /**
   * Deletes the copy under a name, once for all concurrent callers. Closing does not abort it: `close` waits,
   * and leaves nothing half done.
   * @param mayBeNothing Whether there may be no file. Then a successful deletion proves nothing about the
   * tier.
   */
  delete(
    tier: Tier,
    key: string,
    name: string,
    attempt: () => Promise<void>,
    mayBeNothing = false,
  ): Promise<void> {
    return this.#attempt(tier, key, doomOf(tier.level, name), attempt, mayBeNothing);
  }

  /** Records that a copy of a key is being removed from a level. */
  track(key: string, level: number, removal: Promise<void>): Promise<void> {
    const ofKey = this.#underWay.get(key) ?? new Map<number, Promise<void>>();
    const ended = Promise.all([ofKey.get(level), removal]).then(() => {
      if (ofKey.get(level) !== ended) return;
      ofKey.delete(level);
      if (ofKey.size === 0) this.#underWay.delete(key);
    });
    this.#underWay.set(key, ofKey.set(level, ended));
    return ended;
  }

  #attempt(
    tier: Tier,
    key: string,
    doom: string,
    attempt: () => Promise<void>,
    mayBeNothing: boolean,
  ): Promise<void> {
    const sameDeletion = this.#deleting.get(doom);
    if (sameDeletion !== undefined) return sameDeletion;
    this.#doomed.add(doom);
    // This attempt replaces a waiting retry.
    this.#forget(key, doom);
    const deletion = this.#deletes(attempt)
      .finally(() => this.#deleting.delete(doom))
      .then(
        () => {
          this.#doomed.delete(doom);
          if (!mayBeNothing) this.#host.tierWorked(tier, 'write');
        },
        (error: unknown) => {
          const undeleted = this.#undeleted.get(key) ?? new Map<string, Undeleted>();
          this.#undeleted.set(key, undeleted.set(doom, { tier, retry: attempt, mayBeNothing }));
          this.#host.tierFault(tier, 'delete', key, error);
          if (!this.#isTrying) this.#tryLater(1);
        },
      );
    this.#deleting.set(doom, deletion);
    return deletion;
  }

  #forget(key: string, doom: string): void {
    const undeleted = this.#undeleted.get(key);
    undeleted?.delete(doom);
    if (undeleted?.size === 0) this.#undeleted.delete(key);
  }

  /** Retries after a pause. */
  #tryLater(failures: number): void {
    this.#isTrying = true;
    tryAgainLater(this.#host.clock, this.#closing, failures, () => void this.#tryAll(failures));
  }

  /** Retries all, a few at a time, until one fails. The failed one comes last the next time. */
  async #tryAll(failures: number): Promise<void> {
    // Copies on a tier that is out of service wait until the tier works again.
    const mayBeTried = (key: string) =>
      [...(this.#undeleted.get(key)?.values() ?? [])].some(({ tier }) => tier.writing.inService);
    const keys = [...this.#undeleted.keys()].filter(mayBeTried);
    while (keys.length > 0 && !this.#closing.aborted) {
      const some = keys.splice(0, DELETES);
      for (const key of some) this.isUnderWay(key);
      await Promise.all(some.flatMap((key) => [...(this.#underWay.get(key)?.values() ?? [])]));
      if (some.some(mayBeTried)) break;
    }
    this.#isTrying = false;
    if (this.#undeleted.size > 0) this.#tryLater(failures + 1);
  }
}

function doomOf(level: number, name: string): string {
  return `${level} ${name}`;
}
