import type { Tier } from '@tiered/core';
import { copyName, isPacked } from '@tiered/core/internal';
import type { IndexClient } from '../../index/index-client.js';
import { heldError, notCurrentError } from '../../tier/errors.js';
import { Accounts } from './accounts.js';
import { Completeness, completeIndex } from './completeness.js';
import { FetchTurns, type FetchTurn, type OtherFetch } from '../../tier/fetch-turns.js';
import { FileClaims, type FileClaimsParts } from './file-claims.js';
import { IndexedCopies } from '../../index/indexed-copies.js';
import type { CopyRef } from '../../tier/copy-rows.js';
import { IndexWriter } from '../../index/index-writer.js';
import { Leftovers } from './leftovers.js';
import { Looks } from './looks.js';
import { openIndex, type OpenedIndex } from '../../index/open-index.js';
import { untilFree, type Patiently } from '../../index/until-free.js';
import { Packing, rewritingRoom } from '../packed/packing.js';
import type { SharedStoreParts } from './shared-store-parts.js';
import type { Candidate, Claim, Copy, RewrittenCopy, TierStore } from '../../tier/tier-store.js';

/**
 * The store of a tier with an index: a database on the tier, which lets the next start and other processes
 * reuse its copies.
 *
 * **Problem.** Several processes fill one tier, and any of them may be killed or stopped at any instant. The
 * tier must never hold more than its quota. No process may ever serve a copy that is not whole, or keep a
 * file open that was deleted to make room.
 *
 * **How.** Room is leased in blocks, so a claim needs no transaction. A claim is recorded while its copy is
 * being written to a temporary file, whose name contains the member's name. Once the claim is recorded, the
 * copy moves in, under a name that no other copy ever has. Then it is recorded as placed. So if a process
 * ends at any instant, the index and the names of the temporary files account for everything that may be on
 * the disk. A process that opens the tier, and learns from the kernel that the other process is gone, deletes
 * the leftovers.
 *
 * A removed copy first leaves the index, so that no process finds it any more. Then its file is deleted. Its
 * bytes are given back once every other member has recorded that it has nothing of the copy open.
 *
 * **Liveness.** The home knows which members run. A process that learns that it was taken for dead starts
 * over, and forgets everything that it knew.
 */
export class SharedStore implements TierStore {
  readonly #parts: SharedStoreParts;
  readonly #client: IndexClient;
  readonly #writer: IndexWriter;
  readonly #accounts: Accounts;
  readonly #closing = new AbortController();
  readonly #inode: bigint;
  readonly #leftovers: Leftovers;
  readonly #copies: IndexedCopies;
  readonly #files: FileClaims;
  readonly #looks: Looks;
  readonly #turns: FetchTurns;
  /** Dependencies of the parts that make claims. */
  readonly #own: Pick<FileClaimsParts, 'store' | 'writer' | 'lease' | 'datasetNumber'>;
  /** Gathers small copies, if they are packed. */
  #packing: Packing | undefined;
  #asked: Promise<void> | undefined;
  #isLost = false;
  #closed: Promise<void> | undefined;
  #isSwept = false;
  /** Whether everything on the storage is in the index. */
  readonly #complete: Completeness;

  private constructor(parts: SharedStoreParts, { client, joined, inode }: OpenedIndex) {
    this.#parts = parts;
    this.#client = client;
    this.#inode = inode;
    const isComplete = this.#boot !== '' && joined.state.boot === this.#boot;
    this.#complete = new Completeness(isComplete, (signal, patiently) => this.#sweep(signal, patiently));
    this.#accounts = new Accounts(parts.tier, parts.home, joined.state, {
      onLost: () => this.#lose(),
      onEmptied: (segments) => this.#leftovers.delete(segments),
    });
    const { clock, closing, home, dataset, checksum, urgency } = parts;
    const isShared = () => this.#accounts.state.members > 1;
    this.#turns = new FetchTurns({ locks: home.locks, clock, checksum, dataset, isShared });
    this.#copies = new IndexedCopies({ client, checksum, dataset, datasetNumber: joined.dataset });
    const ends = { ended: this.#closing.signal, ending: closing };
    const joinedAs = { client, member: home.member, leases: this.#accounts };
    const isWaitedFor = () => this.#turns.isWaitedFor;
    this.#writer = new IndexWriter({ ...joinedAs, clock, ends, urgency, isWaitedFor });
    this.#leftovers = new Leftovers(client, parts.home, (row) =>
      this.#deleteFile(copyName(row.key, row.tag), row),
    );
    this.#own = {
      store: this,
      writer: this.#writer,
      lease: this.#accounts.lease,
      datasetNumber: joined.dataset,
    };
    this.#files = new FileClaims({
      ...parts,
      ...this.#own,
      take: (bytes) => this.#take(bytes),
      deleteFile: (name, ref) => this.#deleteFile(name, ref),
    });
    this.#looks = new Looks({
      ...parts,
      client,
      joined,
      writer: this.#writer,
      accounts: this.#accounts,
      leftovers: this.#leftovers,
      copies: this.#copies,
      closing: this.#closing.signal,
      isCurrent: () => this.isCurrent(),
      lose: () => this.#lose(),
      isLost: () => this.#isLost,
      packing: () => this.#packing,
    });
  }

  /**
   * Joins the members of the tier, and cleans up after dead ones. Waits at most two seconds for a process
   * that holds the index. An abort ends the wait at once.
   * @throws TieredError if the index cannot be used now, or at all.
   */
  static async open(parts: SharedStoreParts, signal: AbortSignal | undefined): Promise<SharedStore> {
    const { home, tier, clock } = parts;
    const patiently: Patiently = (call) => untilFree(call, tier, clock, signal);
    let store: SharedStore | undefined;
    try {
      const index = await openIndex(home, tier, parts, clock, patiently);
      if (index.joined.isReplaced) parts.onReplaced();
      store = new SharedStore(parts, index);
      await store.#begin(patiently, signal);
      return store;
    } catch (error) {
      if (store !== undefined) await store.#abandon();
      // Otherwise others would take this unfinished start for work of a running member.
      await home.close();
      throw error;
    }
  }

  async #begin(patiently: Patiently, signal: AbortSignal | undefined): Promise<void> {
    await this.#leftovers.clearUp(patiently);
    if (this.#accounts.state.boot === '') await this.#complete.reach(signal, patiently);
    this.#writer.write();
    await patiently(() => this.#written());
    this.#looks.begin();
  }

  /**
   * Resolves once all pending changes are written.
   * @throws TieredError `TIERED_UNAVAILABLE` while others block that.
   */
  async #written(): Promise<void> {
    await Promise.race([this.#writer.settled(), this.#writer.heldUp()]);
    if (this.#writer.isHeldUp) throw heldError(this.tier);
  }

  /** Cleans up after a failed start. */
  async #abandon(): Promise<void> {
    this.#closing.abort(notCurrentError(this.tier));
    // Calls under way fail, so that nothing waits for the index any more.
    await this.#client.end();
    await this.#leftovers.settled();
    await this.#writer.settled();
  }

  get tier(): Tier {
    return this.#parts.tier;
  }

  get quotaBytes(): number {
    return this.#accounts.quotaBytes;
  }

  get usedBytes(): number {
    return this.#accounts.usedBytes;
  }

  get claimedBytes(): number {
    // Once closing, bytes that others now claim, or that could not be deleted, are not held here any more.
    return this.#closing.signal.aborted ? 0 : this.#accounts.claimedBytes;
  }

  get freeBytes(): number {
    const { freeBytes } = this.#accounts;
    return this.tier.layout === 'packed'
      ? Math.max(0, freeBytes - rewritingRoom(this.quotaBytes))
      : freeBytes;
  }

  get excessBytes(): number {
    return this.#accounts.excessBytes;
  }

  get underWay(): readonly Promise<void>[] {
    return [...(this.#packing?.underWay ?? []), ...this.#leftovers.underWay];
  }

  get asked(): Promise<void> | undefined {
    return this.#asked;
  }

  leavingBytes = (): Promise<number> => this.#client.call('leavingBytes', undefined);

  get current(): boolean {
    return !this.#isLost && !this.#closing.signal.aborted;
  }

  async isCurrent(): Promise<boolean> {
    // The call fails only once the client has ended. Then nothing else can be done with the index either.
    if (!this.current) return false;
    const found = await this.#client.call('inode', undefined).catch(() => this.#inode);
    if (found !== this.#inode) this.#lose();
    return this.current;
  }

  get mayHoldMore(): boolean {
    // Behind a hanging writer, a lookup would hang as well.
    return !this.#writer.isHeldUp && (!this.#isSwept || this.#accounts.wasShared);
  }

  claim(object: Candidate, bytes: number): Claim | 'later' | undefined {
    if (!this.#complete.isReached) return 'later';
    return this.#claimPacked(object, bytes) ?? this.#files.claim(object, bytes);
  }

  /**
   * As `claim`, for a copy that is gathered with others. Undefined if the copy gets a file of its own, or has
   * no room.
   */
  #claimPacked(object: Candidate, bytes: number): Claim | 'later' | undefined {
    const packing = this.#packed();
    const room = packing?.roomFor(object, bytes);
    if (packing === undefined || room === undefined) return undefined;
    const isTaken = this.#take(room);
    return isTaken === true ? packing.claim(object, bytes, room) : isTaken;
  }

  /** The packing, if the copies of this tier are packed. */
  #packed(): Packing | undefined {
    if (this.tier.layout !== 'packed') return undefined;
    return (this.#packing ??= new Packing({ ...this.#parts, ...this.#own, turns: this.#turns }));
  }

  async rewrite(
    copies: readonly RewrittenCopy[],
  ): Promise<readonly PromiseSettledResult<Copy>[] | undefined> {
    const packing = this.#packed();
    if (packing === undefined || !this.#complete.isReached || !(await this.isCurrent())) return undefined;
    const room = packing.roomForAll(copies);
    let isTaken = this.#take(room);
    if (isTaken === 'later') {
      await this.#asked;
      isTaken = this.#take(room);
    }
    return isTaken === true ? packing.rewrite(copies, room) : undefined;
  }

  /** Takes bytes from the lease. If there are too few, returns the same as `claim`. */
  #take(bytes: number): true | 'later' | undefined {
    const { lease, unleased } = this.#accounts;
    if (lease.take(bytes, unleased)) {
      if (lease.isLow) this.#writer.write();
      return true;
    }
    if (!lease.hasRoom(bytes, unleased)) return undefined;
    // While no request is possible, claims are repeated and would add up.
    if (!this.#writer.isHeldUp) lease.want(bytes);
    this.#ask();
    return 'later';
  }

  get hasTurns(): boolean {
    return this.#turns.isShared;
  }

  fetching(object: Candidate): FetchTurn | OtherFetch | undefined {
    return this.#turns.begin(object);
  }

  find(key: string): Promise<readonly Copy[]> {
    return this.#copies.find(key);
  }

  pages({ others = false } = {}): AsyncGenerator<readonly Copy[], void, undefined> {
    return this.#copies.pages(others);
  }

  together(copy: Copy): Promise<readonly Copy[]> {
    return this.#copies.together(copy);
  }

  sparse(): Promise<readonly Copy[]> {
    return this.#copies.sparse();
  }

  async remove({ name, row }: Copy): Promise<void> {
    // Under another index the name is unknown, and the member that began that index deletes unknown files. If
    // the change is not known yet, no other process's file is deleted, because no name is used twice.
    if (row === undefined || !this.current) return;
    if (isPacked(row.tag)) {
      // A packed copy has no file to delete between the two.
      await Promise.all([this.#writer.leaving(row), this.#writer.gone(row)]);
      // In case the copy was the last one of its segment.
      await this.#leftovers.settled();
      return;
    }
    await this.#writer.leaving(row);
    await this.#deleteFile(name, row);
  }

  shrink(held: number, lost: number): void {
    this.#writer.quota(this.#accounts.shrink(held, lost));
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    // Records written copies, unless the index is known to be another one by now.
    if (this.current) await this.#packing?.close();
    this.#closing.abort(notCurrentError(this.tier));
    await this.#packing?.close();
    // A look in progress uses the storage, which is about to be closed.
    await this.#looks.ended;
    await this.#leftovers.settled();
    await this.#writer.settled();
    // Before others are told that nothing is open here.
    await this.#parts.home.close();
    if (!this.#isLost) await this.#leftovers.leave();
    await this.#client.end();
  }

  async beginTakingOver(): Promise<void> {
    // The index contains all there is to know.
  }

  async endTakingOver(signal: AbortSignal, isAllKnown: boolean): Promise<void> {
    this.#isSwept = isAllKnown;
    await this.#complete.reach(signal, (call) => this.#writer.patiently(call));
    this.#parts.events.emit('room', this.tier.level);
  }

  async #sweep(signal: AbortSignal | undefined, patiently: Patiently): Promise<void> {
    const mine = { client: this.#client, patiently, boot: this.#boot };
    await completeIndex({ ...this.#parts, ...mine }, signal);
    this.#writer.write();
    await patiently(() => this.#writer.settled());
  }

  /**
   * The boot of the machine, and the file in which it was recorded. An index copied from elsewhere says
   * nothing about this storage.
   */
  get #boot(): string {
    const { boot } = this.#parts.home;
    return boot === undefined ? '' : `${boot} ${this.#inode}`;
  }

  /**
   * Requests room. No caller should wait for it while another process, possibly a stopped one, holds the
   * index.
   */
  #ask(): void {
    this.#writer.write();
    if (this.#asked !== undefined || this.#writer.isHeldUp) return;
    this.#asked = Promise.race([this.#writer.next(), this.#writer.heldUp()]).then(() => {
      this.#asked = undefined;
      this.#parts.events.emit('room', this.tier.level);
    });
  }

  /** Called if others took this process for dead, or the index was replaced. */
  #lose(): void {
    if (this.#isLost || this.#closing.signal.aborted) return;
    this.#isLost = true;
    this.#parts.events.emit('lost', this.tier.level);
  }

  /** Deletes the file of a copy that is out of service, and records that. */
  async #deleteFile(name: string, ref: CopyRef): Promise<void> {
    // A packed copy has no file. It is part of its segment, which is deleted with its last copy.
    if (!isPacked(ref.tag)) {
      await this.tier.driver.delete(name, {});
      // The file still fills the tier while a reader has it open.
      await this.#parts.home.forget(name);
    }
    await this.#writer.gone(ref);
  }
}
