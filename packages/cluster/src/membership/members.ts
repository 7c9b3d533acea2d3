import { isTieredError, TieredError, type Clock } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { memberRecord, slotOf, type MemberRecord } from '../member.js';
import type { Registry, RegistryEntry } from '../registry/registry.js';

/** Renewals of a record within its lifetime, so that one lost renewal does not matter. */
const RENEWALS = 3;
/**
 * Milliseconds from a hint to a look. The delay doubles with each look that finds nothing new, since renewals
 * of many members may be hints too.
 */
const HINTS_MS = 100;

/** Another worker of the cluster. */
export interface Member extends MemberRecord {
  /** The process. Another process may take its rank later. */
  readonly owner: string;
  /** Whether the registry has its record. If not, the worker has left or was killed. */
  readonly isThere: boolean;
  /** The time, on the clock, when the registry last had its record. */
  readonly seenAt: number;
}

/** Dependencies of `Members`. */
export interface MembersParts {
  readonly registry: Registry;
  /** This process. */
  readonly owner: string;
  /** The number of workers if it is fixed, else Infinity. */
  readonly size: number;
  readonly ttlMs: number;
  /** Milliseconds after which a worker without a record counts as gone for good. */
  readonly goneAfterMs: number;
  readonly clock: Clock;
  /** Called after others joined, left or changed. */
  readonly onChange: () => void;
  /** Called when the registry cannot be reached, and with undefined when it can be reached again. */
  readonly onRegistry: (error: unknown) => void;
}

/**
 * The members, as the registry last reported them. While the registry is lost, or has forgotten all records,
 * the members stay as they are. A worker whose record is gone is no longer asked. It stays known for a while:
 * it may be restarting, and its objects then need no other home.
 */
export class Members {
  readonly #parts: MembersParts;
  #others: ReadonlyMap<number, Member> = new Map();
  readonly #ended = new AbortController();
  /** Wakes the loop early. */
  #wake: () => void = () => undefined;
  #own: MemberRecord | undefined;
  #isLost = false;
  /** Until this time, others may still put back records that the registry has forgotten. */
  #forgottenUntil = -Infinity;
  #hintMs = HINTS_MS;
  #running: Promise<void> | undefined;
  #stopWatching: (() => void) | undefined;

  constructor(parts: MembersParts) {
    this.#parts = parts;
  }

  /** This worker's rank. */
  get rank(): number {
    return this.#own?.rank ?? -1;
  }

  /** The other workers, by rank. */
  get others(): ReadonlyMap<number, Member> {
    return this.#others;
  }

  /**
   * Takes a rank, and learns which workers are present.
   * @param rank Undefined for the lowest free rank.
   * @throws TieredError `TIERED_CONFIG_INVALID` if others agree on something else, or if other workers keep
   * the rank, or all ranks, for as long as a record lives; `TIERED_UNAVAILABLE` if the registry cannot be
   * reached.
   */
  async join(
    record: Omit<MemberRecord, 'rank'>,
    rank: number | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { registry } = this.#parts;
    await registry.open({ signal });
    await this.#look(signal);
    for (const other of this.#others.values()) if (other.rank !== rank) assertAgreed(record.agreed, other);
    await this.#takeRank(record, rank, signal);
    await this.#look(signal);
    this.#stopWatching = registry.watch(() => this.#wake());
    this.#running = this.#run();
  }

  /** Publishes changes of this worker's record to the others. */
  async tell(news: Partial<MemberRecord>): Promise<void> {
    if (this.#own === undefined) return;
    this.#own = { ...this.#own, ...news };
    await this.#renew(true, this.#ended.signal);
  }

  /** Removes this worker's record if the registry can be reached, and closes the registry. */
  async leave(): Promise<void> {
    this.#ended.abort(new Error('The worker has left.'));
    this.#stopWatching?.();
    this.#wake();
    await this.#running;
    const { registry, owner } = this.#parts;
    if (this.#own !== undefined) await registry.leave(slotOf(this.rank), owner, {}).catch(() => undefined);
    await registry.close();
  }

  /** Takes a rank. A killed worker holds its rank until its record has expired. */
  async #takeRank(
    record: Omit<MemberRecord, 'rank'>,
    rank: number | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { clock, ttlMs, size } = this.#parts;
    for (const until = clock.now() + 2 * ttlMs; ;) {
      for (const one of rank === undefined ? this.#free() : [rank])
        if (await this.#take({ ...record, rank: one }, signal)) return;
      if (clock.now() >= until)
        throw rank === undefined
          ? configError('size', 'more workers than there are, as all ranks are taken', size)
          : configError('rank', 'one that no other worker has', rank);
      await clock.sleep(ttlMs / RENEWALS, signal);
      await this.#look(signal);
    }
  }

  /** The ranks that are free as far as is known, lowest first. */
  *#free(): Generator<number> {
    for (let rank = 0; rank < this.#parts.size; rank++)
      if (this.#others.get(rank)?.isThere !== true) yield rank;
  }

  async #take(record: MemberRecord, signal: AbortSignal | undefined): Promise<boolean> {
    const { registry, owner, ttlMs } = this.#parts;
    const isTaken = await registry.put({ slot: slotOf(record.rank), owner, record }, { ttlMs, signal });
    // A renewal has the record as it was when the renewal began. It may have changed meanwhile.
    if (isTaken) this.#own ??= record;
    return isTaken;
  }

  /** Renews the record in time, and looks for changes then, and soon after a hint. */
  async #run(): Promise<void> {
    const { clock, ttlMs } = this.#parts;
    const { signal } = this.#ended;
    for (let renewAt = clock.now() + ttlMs / RENEWALS; !signal.aborted;) {
      const isHinted = await this.#hint(renewAt - clock.now());
      // Many hints cause one look. The renewal stays on time.
      const lookInMs = Math.min(this.#hintMs, renewAt - clock.now());
      if (isHinted) await clock.sleep(lookInMs, signal, { background: true }).catch(() => undefined);
      if (signal.aborted) return;
      const isDue = clock.now() >= renewAt;
      if (isDue) renewAt = clock.now() + ttlMs / RENEWALS;
      await this.#renew(isDue, signal);
    }
  }

  /** Waits for a hint; false if none came in time. */
  async #hint(ms: number): Promise<boolean> {
    const hinted = new AbortController();
    this.#wake = () => hinted.abort(new Error('Somebody came or went.'));
    await this.#parts.clock.sleep(ms, hinted.signal, { background: true }).catch(() => undefined);
    return hinted.signal.aborted;
  }

  async #renew(isDue: boolean, signal: AbortSignal): Promise<void> {
    const { onRegistry } = this.#parts;
    try {
      // Look before the record is put again, to notice that the registry has forgotten it.
      await this.#look(signal);
      if (isDue && this.#own !== undefined && !(await this.#take(this.#own, signal)))
        throw replaced(this.rank);
      if (this.#isLost) onRegistry(undefined);
      this.#isLost = false;
    } catch (error) {
      if (signal.aborted) return;
      // Expected failures are TieredErrors. Anything else is a bug, ours or the registry author's.
      if (!isTieredError(error)) throw error;
      if (!this.#isLost) onRegistry(error);
      this.#isLost = true;
    }
  }

  async #look(signal: AbortSignal | undefined): Promise<void> {
    const { registry, owner, clock, ttlMs, goneAfterMs, onChange } = this.#parts;
    const now = clock.now();
    const entries = await registry.all({ signal });
    const seen = membersIn(entries, now);
    // A registry that has lost this record has lost the others' as well. All members put theirs again in
    // time.
    if (this.#own !== undefined && !entries.some((entry) => entry.owner === owner))
      this.#forgottenUntil = now + ttlMs;
    const hasForgotten = now < this.#forgottenUntil;
    for (const [rank, known] of this.#others)
      if (!seen.has(rank) && now - known.seenAt < goneAfterMs)
        seen.set(rank, { ...known, isThere: known.isThere && hasForgotten });
    for (const [rank, { owner: other }] of seen) if (other === owner || rank === this.rank) seen.delete(rank);
    const isChanged =
      seen.size !== this.#others.size ||
      [...seen].some(([rank, member]) => !isSame(this.#others.get(rank), member));
    this.#others = seen;
    this.#hintMs = isChanged ? HINTS_MS : Math.min(2 * this.#hintMs, ttlMs / RENEWALS);
    if (isChanged) onChange();
  }
}

/** The members that a registry knows. It may hold other records too, for example of a control plane. */
function membersIn(entries: readonly RegistryEntry[], now: number): Map<number, Member> {
  const members = new Map<number, Member>();
  for (const { slot, owner, record } of entries) {
    const { success, data } = memberRecord.safeParse(record);
    if (success && slotOf(data.rank) === slot)
      members.set(data.rank, { ...data, owner, isThere: true, seenAt: now });
  }
  return members;
}

function isSame(known: Member | undefined, now: Member): boolean {
  const fields = ['owner', 'url', 'share', 'plan', 'isThere'] as const;
  return known !== undefined && fields.every((field) => known[field] === now[field]);
}

/** @throws TieredError `TIERED_CONFIG_INVALID` that names the difference. */
function assertAgreed(own: Readonly<Record<string, string>> = {}, { rank, agreed }: Member): void {
  if (agreed === undefined) return;
  for (const field of new Set([...Object.keys(own), ...Object.keys(agreed)])) {
    if (own[field] === agreed[field]) continue;
    throw configError(
      `agreed.${field}`,
      `${JSON.stringify(agreed[field]) ?? 'none'}, as worker ${rank} of this cluster has it`,
      own[field],
    );
  }
}

/** The error when this process was away for so long that another one took its rank. */
function replaced(rank: number): TieredError {
  return new TieredError(
    'TIERED_UNAVAILABLE',
    `Another worker has taken rank ${rank}. This one goes on without being asked; start it anew to join again.`,
    { retryable: true },
  );
}
