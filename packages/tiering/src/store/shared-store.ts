import type { Clock, IndexHome, Tier } from '@tiered/core';
import { copyName, newTag, onAbort, raceAbort, type Checksum } from '@tiered/core/internal';
import type { IndexClient } from '../index-client.js';
import { notCurrentError, takenError, takenForDeadError } from '../tier-errors.js';
import { copyOf, packSums } from './copy-record.js';
import type { Applied, ClaimRow, CopyRef, CopyRow, IndexState } from './index-messages.js';
import { IndexWriter, type Leases } from './index-writer.js';
import { Lease } from './lease.js';
import { inodeOf, openIndex, untilFree } from './open-index.js';
import { rowPages } from './row-pages.js';
import { deleteUnknown, measuredOverhead } from './sweep.js';
import type { Candidate, Claim, Copy, CopyContent, TierStore } from './tier-store.js';

/** What a store needs. */
export interface SharedStoreParts {
  readonly tier: Tier;
  readonly home: IndexHome;
  /** Whose objects are placed: copies of other datasets are left alone. */
  readonly dataset: string;
  readonly checksum: Checksum;
  readonly clock: Clock;
  /** Another process removed a copy of this dataset: it is not to be served any more. */
  readonly onLeft: (copy: Copy) => void;
  /** The index is not this process's any more: the tier is to be opened again. */
  readonly onLost: () => void;
}

/** How often a process looks at what others did, in milliseconds: so long may bytes stay taken that another one let go. */
const LOOK_EVERY_MS = 250;

/**
 * What one tier holds, kept in a database on the tier so that the next start, and other processes, know it too.
 *
 * **Problem.** Several processes fill one tier, any of them may be killed or stopped at any instant, and never may the tier
 * hold more than its quota, or anybody serve a copy that is not whole, or keep open what was deleted to make room.
 *
 * **How.** Room is leased in blocks, so that a claim needs no transaction. A claim is recorded while its copy is being
 * written, into a temporary file that bears the member's name; the copy moves in under a name that no other copy ever has
 * once its claim is recorded; then it is recorded as placed. Whatever instant a process ends at, the index and the names of the
 * temporary files say all that may be on the disk; whoever opens the tier, and finds by the kernel's word that the
 * process is gone, deletes that. A copy that is removed leaves first (nobody is told of it any more), then its file goes, and its bytes
 * are given back when every other member has said that it holds nothing open of it.
 *
 * **Who runs** the home says. A process that learns that it was taken for dead begins anew, with nothing that it knew.
 */
export class SharedStore implements TierStore, Leases {
  readonly #parts: SharedStoreParts;
  readonly #client: IndexClient;
  readonly #writer: IndexWriter;
  readonly #lease: Lease;
  readonly #closing = new AbortController();
  readonly #inode: bigint;
  readonly #work = new Set<Promise<unknown>>();
  /** What others left and could not be deleted yet. */
  readonly #again = new Set<() => Promise<void>>();
  #dataset = 0;
  #state: IndexState;
  #seen: number;
  #overhead = 0;
  #isLost = false;
  #isShown = false;
  /** Says when, and in which file, all that is on the storage was in the index; and whether it is so now. */
  readonly #mark: string;
  #isKnown: boolean;
  #wasShared = false;
  #quota: number;

  private constructor(
    parts: SharedStoreParts,
    client: IndexClient,
    joined: { dataset: number; state: IndexState },
  ) {
    this.#parts = parts;
    this.#client = client;
    this.#inode = inodeOf(parts.home.path);
    this.#quota = parts.tier.quotaBytes;
    this.#dataset = joined.dataset;
    this.#state = this.#counted(joined.state);
    this.#seen = joined.state.seq;
    this.#mark = `${parts.home.boot ?? ''} ${this.#inode}`;
    this.#isKnown = parts.home.boot !== undefined && joined.state.boot === this.#mark;
    this.#lease = new Lease(this.#quota, parts.home.blockBytes);
    this.#writer = new IndexWriter(client, parts.home.member, parts.clock, this, this.#closing.signal);
  }

  /**
   * Joins those who use the tier, and clears up after those who died.
   * @throws TieredError for an index that cannot be used now, or at all.
   */
  static async open(parts: SharedStoreParts, signal: AbortSignal | undefined): Promise<SharedStore> {
    const { home, tier, clock, dataset } = parts;
    const patiently = <T>(call: () => Promise<T>) => untilFree(call, clock, signal);
    const client = await openIndex(home, tier, patiently);
    try {
      const { member } = home;
      const joined = await patiently(() => client.call('join', { member, quota: tier.quotaBytes, dataset }));
      const store = new SharedStore(parts, client, joined);
      await store.#clearUp(patiently);
      // Of an index that was lost nothing is known: all that is there goes before anything comes.
      if (joined.state.occupied === 0) await store.sweep(signal);
      store.#writer.write();
      await store.#writer.settled();
      void store.#keepLooking();
      return store;
    } catch (error) {
      await client.end();
      throw error;
    }
  }

  get tier(): Tier {
    return this.#parts.tier;
  }

  get quotaBytes(): number {
    return Math.min(this.#state.quota, this.#quota);
  }

  get usedBytes(): number {
    const { occupied, claimed, overhead, fileBytes } = this.#state;
    return occupied - claimed + overhead + fileBytes;
  }

  get claimedBytes(): number {
    // What others go on to claim, or could not be deleted, is not held here any more.
    return this.#closing.signal.aborted ? 0 : this.#state.claimed + this.#lease.reserved;
  }

  get freeBytes(): number {
    return this.#lease.largest(this.#unleased);
  }

  get excessBytes(): number {
    return Math.max(0, this.usedBytes + this.#state.claimed - this.quotaBytes);
  }

  get current(): boolean {
    return !this.#isLost && !this.#closing.signal.aborted && inodeOf(this.#parts.home.path) === this.#inode;
  }

  get mayHoldMore(): boolean {
    return !this.#isShown || this.#wasShared;
  }

  claim(object: Candidate, bytes: number): Claim | 'later' | undefined {
    // What nobody knows of takes room too, until it is deleted.
    if (!this.#isKnown) return bytes > this.freeBytes ? undefined : 'later';
    const occupied = this.#lease.occupied(bytes);
    if (!this.#lease.take(occupied, this.#unleased)) {
      if (bytes > this.freeBytes) return undefined;
      this.#writer.write();
      return 'later';
    }
    if (this.#lease.isLow) this.#writer.write();
    const { key, version, size } = object;
    const row = { key, dataset: this.#dataset, tag: newTag(), version, size, bytes, occupied };
    const recorded = this.#writer.claim(row);
    // Looked at when the copy is published.
    recorded.catch(() => undefined);
    const name = copyName(key, row.tag);
    const { driver } = this.tier;
    return {
      store: this,
      name,
      bytes,
      create: (options) => driver.create(name, { size: bytes, ...options }),
      readInto: (target, options) => driver.readInto(name, target, options),
      publish: async (writer, content, { signal }) => {
        if (!(await raceAbort(recorded, signal)))
          throw this.current ? takenError(this.tier, key) : takenForDeadError(this.tier);
        if (!this.current) throw notCurrentError(this.tier);
        await writer.publish({ signal });
        return this.#placed(row, content);
      },
      release: () => this.#release(row, recorded),
    };
  }

  async find(key: string): Promise<readonly Copy[]> {
    const rows = await this.#client.call('find', { dataset: this.#dataset, key });
    return rows.map((row) => this.#copyOf(row));
  }

  async *pages({ others = false } = {}): AsyncGenerator<readonly Copy[], void, undefined> {
    for await (const rows of rowPages(this.#client, this.#dataset, others))
      yield rows.map((row) => this.#copyOf(row));
  }

  async remove({ name, row }: Copy): Promise<void> {
    // Under another index the name is unknown, and whoever began that index deletes what it does not know.
    if (row === undefined || !this.current) return;
    await this.#writer.leaving(row);
    await this.#deleteFile(name, row);
  }

  shrink(held: number, lost: number): void {
    const before = this.#quota === this.tier.quotaBytes ? held : this.#quota;
    // There is room for what is there, however often copies met the end of the storage.
    this.#quota = Math.min(before, Math.max(this.usedBytes, before - lost));
    this.#writer.quota(this.#quota);
  }

  async settled(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work);
    await this.#writer.settled();
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(new Error('closed'));
    await this.#writer.settled();
    const { home } = this.#parts;
    // If it cannot be said, others see it by the kernel's word.
    if (!this.#isLost) await this.#client.call('leave', { member: home.member }).catch(() => undefined);
    await this.#client.end();
    await home.close();
  }

  /**
   * Sees to it that all that is on the storage is in the index, if a power cut may have come between, or the index is a copy
   * that was put there. Costs a listing of the storage then.
   */
  async sweep(signal: AbortSignal | undefined): Promise<void> {
    if (this.#isKnown) return;
    const { home, tier } = this.#parts;
    const index = this.#client;
    await deleteUnknown(index, tier, signal);
    await index.call('swept', {
      boot: this.#mark,
      overhead: await measuredOverhead(index, home, tier, signal),
    });
    this.#isKnown = true;
    this.#writer.write();
  }

  /** All copies were shown to this process. */
  shown(): void {
    this.#isShown = true;
  }

  terms(): ReturnType<Leases['terms']> {
    const overhead = this.#parts.home.overheadBytes - this.#overhead;
    this.#overhead += overhead;
    const terms = this.#lease.terms(Math.max(this.#state.wanted, -this.#unleased));
    // The index counts itself among what nobody may lease.
    return { ...terms, hold: terms.hold + this.#state.fileRoom, overhead };
  }

  applied({ isMember, refused, state }: Applied, claims: readonly ClaimRow[]): void {
    const isRefused = new Set(refused);
    for (const { tag, occupied } of claims) this.#lease.recorded(occupied, isMember && !isRefused.has(tag));
    this.#lease.ended();
    this.#learn(state);
    if (!isMember) this.#lose();
  }

  failed(terms: ReturnType<Leases['terms']>, claims: readonly ClaimRow[]): void {
    this.#overhead -= terms.overhead;
    this.#lease.ended();
    for (const { occupied } of claims) this.#lease.recorded(occupied, false);
  }

  get #unleased(): number {
    const { occupied, overhead, fileRoom, leased } = this.#state;
    return this.quotaBytes - occupied - overhead - fileRoom - leased - this.#lease.hold;
  }

  #learn(state: IndexState): void {
    this.#state = this.#counted(state);
    this.#wasShared ||= state.members > 1;
    this.#lease.learn(state.mine ?? 0);
  }

  /** The sums, without the index's own files if those are elsewhere. */
  #counted(state: IndexState): IndexState {
    return this.#parts.home.isOnTier ? state : { ...state, fileBytes: 0, fileRoom: 0 };
  }

  /** Others took this process for dead, or somebody put another index there. */
  #lose(): void {
    if (this.#isLost || this.#closing.signal.aborted) return;
    this.#isLost = true;
    this.#parts.onLost();
  }

  async #placed(row: ClaimRow, content: CopyContent): Promise<Copy> {
    const { checksum, dataset } = this.#parts;
    const chunk = content.chunkBytes;
    const sums = packSums({ ...row, chunk }, content.sums, checksum);
    if (!(await this.#writer.placed({ ...row, chunk, sums }))) throw takenForDeadError(this.tier);
    const { key, version, bytes, tag } = row;
    const placed: CopyRow = { ...row, chunk, sums, member: undefined, seq: 0 };
    return { name: copyName(key, tag), tag, key, version, bytes, content, dataset, row: placed };
  }

  async #release(row: ClaimRow, recorded: Promise<boolean>): Promise<void> {
    const isRecorded = await recorded.catch(() => false);
    if (isRecorded && this.current) await this.#deleteFile(copyName(row.key, row.tag), row);
  }

  /** Deletes what is under the name of a copy that nobody is shown, and says so. */
  async #deleteFile(name: string, ref: CopyRef): Promise<void> {
    await this.tier.driver.delete(name, {});
    await this.#writer.gone(ref);
  }

  #track<T>(work: Promise<T>): Promise<T | undefined> {
    const tracked: Promise<T | undefined> = work
      .catch(() => undefined)
      .finally(() => this.#work.delete(tracked));
    this.#work.add(tracked);
    return tracked;
  }

  /** Does something, now or, if it fails, at a later look. */
  async #retried(attempt: () => Promise<void>): Promise<void> {
    this.#again.delete(attempt);
    await attempt().catch(() => this.#again.add(attempt));
  }

  /** Takes over what members left that are not running any more. */
  async #clearUp(patiently: <T>(call: () => Promise<T>) => Promise<T>): Promise<void> {
    const { home } = this.#parts;
    const dead: string[] = [];
    for (const id of await this.#client.call('members', undefined))
      if (id !== home.member && !(await home.isRunning(id))) dead.push(id);
    // Before the bytes of their temporary files are anybody else's.
    for (const id of dead) await home.clearUp(id);
    const unfinished = await patiently(() => this.#client.call('inherit', { member: home.member, dead }));
    for (const row of unfinished)
      await this.#retried(() => this.#deleteFile(copyName(row.key, row.tag), row));
  }

  /** Looks at what others did, now and then. Ends with the store. */
  async #keepLooking(): Promise<void> {
    const { clock } = this.#parts;
    const { signal } = this.#closing;
    const stopped = new Promise<void>((resolve) => onAbort(signal, () => resolve()));
    while (!signal.aborted) {
      await Promise.race([
        clock.sleep(LOOK_EVERY_MS, signal, { background: true }).catch(() => undefined),
        stopped,
      ]);
      if (signal.aborted) return;
      await this.#track(this.#look());
    }
  }

  async #look(): Promise<void> {
    if (!this.current) {
      this.#lose();
      return;
    }
    for (const again of [...this.#again]) await this.#retried(again);
    if (!(await this.#client.call('changed', undefined))) return;
    const { home } = this.#parts;
    this.#learn(await this.#client.call('state', { member: home.member }));
    if (this.#state.mine === undefined) {
      this.#lose();
      return;
    }
    if (this.#state.seq > this.#seen) await this.#letGo();
    if (this.#state.wanted > 0 || this.#unleased < 0) this.#writer.write();
  }

  /** Lets go of copies that others removed, and says so: until then their bytes are taken. */
  async #letGo(): Promise<void> {
    const { home, onLeft, dataset } = this.#parts;
    const { seq } = this.#state;
    for (const row of await this.#client.call('left', { after: this.#seen })) {
      if (row.member === home.member) continue;
      const copy = this.#copyOf(row);
      if (row.dataset === this.#dataset && copy.dataset === dataset) onLeft(copy);
      await home.forget(copy.name);
    }
    this.#seen = seq;
    this.#writer.seen(seq);
  }

  #copyOf(row: CopyRow): Copy {
    return copyOf(row, this.#parts.dataset, this.#parts.checksum);
  }
}
