import {
  isTieredError,
  type Clock,
  type ObjectWriter,
  type OperationOptions,
  type ReadIntoOptions,
  type SharedLog,
  type Tier,
} from '@tiered/core';
import type { Checksum } from '@tiered/core/internal';
import { LogCodec, type CopyContent, type CopyIdentity, type LogRecord } from './log-record.js';
import { PrivateLog } from './private-log.js';
import { damagedError, notCurrentError, sealedError, takenForDeadError } from './tier-errors.js';
import { TierLedger, type Copy } from './tier-ledger.js';

/** What a store needs. */
export interface TierStoreParts {
  readonly tier: Tier;
  /** Whose objects are placed: copies of other datasets are left alone. */
  readonly dataset: string;
  readonly checksum: Checksum;
  readonly clock: Clock;
  /** Another process removed a copy of this dataset. */
  readonly onFreed: (copy: Copy) => void;
}

/** Bytes of a tier that belong to a copy on its way. Ends once, by `placed` or `release`. */
export interface Claim {
  readonly store: TierStore;
  readonly name: string;
  readonly bytes: number;
  /** Begins to write the copy. */
  create(options: OperationOptions): Promise<ObjectWriter>;
  /** Reads what was published. */
  readInto(target: Uint8Array, options: ReadIntoOptions): Promise<number>;
  /** Called before the copy is published. @throws TieredError `TIERED_UNAVAILABLE` if the tier has another log now. */
  assertCurrent(): void;
  /** The copy was published: the tier has it from now on. */
  placed(content: CopyContent): Copy;
  /** Nothing is under the name, and the bytes are free. */
  release(): void;
}

/** Another process that opens the tier at the same time is done in milliseconds. */
const TRIES_TO_OPEN = 200;
const PAUSE_MS = 10;
/** A log is written anew once it has so many lines more than a new one would have. */
const LINES_TOO_MANY = 1000;

/**
 * What one tier holds, kept in the tier's log so that the next start, and other processes, know it too.
 *
 * **Problem.** Several processes fill one tier, any of them may be killed at any instant, and never may the tier hold
 * more than its quota, or anybody serve a copy that is not whole.
 *
 * **How.** There is no lock and no server, but one log, which gives all processes the same order of events, and a
 * `TierLedger` in each that draws the same conclusions from it. Who wants room appends a claim, reads the log up to it,
 * and sees whether it was granted. The copy is written under a name that nobody used before, published, and then said
 * to be placed. A process that dies leaves claims behind; whoever notices that it is dead says so in the log, deletes
 * what may be under their names, and frees them.
 *
 * **The log written anew.** When a process is alone it may put a short log in the place of a long one. It seals the log
 * first: who joins after the seal waits for the new one, and if somebody joined before it, the seal is void.
 *
 * **Without a log** (the driver has none) the tier is emptied at start, and must not be shared.
 */
export class TierStore {
  readonly #parts: TierStoreParts;
  readonly #codec: LogCodec;
  readonly #log: SharedLog;
  /** Names that this process is placing or freeing: it need not be told what becomes of them. */
  readonly #mine = new Set<string>();
  /** Names that hold nothing, and whose bytes are still taken because the log could not be told. */
  readonly #unfreed = new Set<string>();
  /** Names that may have been granted, to a claim that failed. */
  readonly #unsure = new Set<string>();
  #ledger = new TierLedger();
  /** What this process lets the tier hold. */
  #quota: number;
  #closed = false;

  private constructor(parts: TierStoreParts, log: SharedLog) {
    this.#parts = parts;
    this.#codec = new LogCodec(parts.checksum);
    this.#log = log;
    this.#quota = parts.tier.quotaBytes;
  }

  /**
   * Joins those who use the tier, and clears up after those who died.
   * @throws TieredError `TIERED_UNAVAILABLE` if another process keeps the tier sealed.
   */
  static async open(parts: TierStoreParts, options: OperationOptions): Promise<TierStore> {
    const { driver } = parts.tier;
    const open = () =>
      driver.capabilities.log ? driver.openLog(options) : Promise.resolve(new PrivateLog());
    for (let tries = 1; ; tries++) {
      const store = new TierStore(parts, await open());
      try {
        if (store.#join()) await store.#clearUp(options);
        if (store.#isReady) return store;
      } catch (error) {
        store.close();
        throw error;
      }
      store.close();
      if (tries === TRIES_TO_OPEN)
        throw store.#isDamaged ? damagedError(parts.tier) : sealedError(parts.tier);
      await parts.clock.sleep(PAUSE_MS, options.signal);
    }
  }

  /** 0 is the fastest. */
  get level(): number {
    return this.#parts.tier.level;
  }

  get tier(): Tier {
    return this.#parts.tier;
  }

  get quotaBytes(): number {
    return this.#ledger.quotaBytes;
  }

  get usedBytes(): number {
    return this.#ledger.usedBytes;
  }

  get claimedBytes(): number {
    return this.#ledger.claimedBytes;
  }

  get freeBytes(): number {
    return Math.max(0, this.#ledger.freeBytes);
  }

  /** Bytes by which copies, and those on their way, exceed the quota: it was lowered, or a process with a smaller one joined. */
  get excessBytes(): number {
    return Math.max(0, -this.#ledger.freeBytes);
  }

  /** Whether the storage still has this log: false if the directory was emptied, or unmounted. Costs a system call. */
  get current(): boolean {
    return !this.#closed && this.#log.current;
  }

  /** Takes in what other processes did. Costs a system call. */
  refresh(): void {
    if (this.#closed) return;
    this.#read((copy) => {
      if (copy.dataset === this.#parts.dataset && !this.#mine.has(copy.name)) this.#parts.onFreed(copy);
    });
    this.#freeLost();
  }

  /** Bytes for a copy, before it is fetched; undefined if there is no room, or if another process is at it. */
  claim(object: Omit<CopyIdentity, 'dataset'>, bytes: number): Claim | undefined {
    const { dataset } = this.#parts;
    // First, because a name that is claimed now could be among them.
    if (this.#unfreed.size + this.#unsure.size > 0) this.refresh();
    if (this.#unfreed.size > 0) return undefined;
    this.#writeAnewIfLong();
    const name = this.#newName(object.key);
    try {
      this.#append({ op: 'claim', member: this.#log.member, name, bytes, dataset, ...object });
      this.refresh();
    } catch (error) {
      this.#unsure.add(name);
      throw error;
    }
    if (!this.#ledger.holds(this.#log.member, name)) return undefined;
    this.#mine.add(name);
    return {
      store: this,
      name,
      bytes,
      create: (options) => this.#parts.tier.driver.create(name, { size: bytes, ...options }),
      readInto: (target, options) => this.#parts.tier.driver.readInto(name, target, options),
      assertCurrent: () => {
        if (!this.current) throw notCurrentError(this.tier);
      },
      placed: (content) => this.#placed(name, content),
      release: () => this.#free(name),
    };
  }

  /** The copies of an object, of any version. */
  copiesOf(key: string): Copy[] {
    return this.#ledger.copiesOf(this.#parts.dataset, key);
  }

  /** The copy under a name. */
  copy(name: string): Copy | undefined {
    return this.#ledger.copy(name);
  }

  /** Every copy of the dataset, or of all others. */
  *copies({ others = false } = {}): Generator<Copy> {
    for (const copy of this.#ledger.copies())
      if ((copy.dataset !== this.#parts.dataset) === others) yield copy;
  }

  /** Deletes what is under a name, whatever that is, and then frees its bytes: what is still there still fills the tier. */
  async remove(name: string, options: OperationOptions): Promise<void> {
    // Under another log the name may be that of another copy, and whoever began that log has deleted this one.
    if (!this.current) return;
    await this.#parts.tier.driver.delete(name, options);
    this.#free(name);
  }

  /**
   * The storage is full before the quota is: lowers that to what was held, without what was lost. Room that was written
   * to and given back counts: of several copies that meet the end of the storage at the same time each gives back
   * what it had, and the next ones are to find that.
   */
  shrink(held: number, lost: number): void {
    const isFirst = this.#quota === this.#parts.tier.quotaBytes;
    const quota = Math.max(0, (isFirst ? held : this.#quota) - lost);
    this.#append({ op: 'quota', member: this.#log.member, quota });
    this.#quota = quota;
    this.refresh();
  }

  /** Leaves. Claims that are still open are cleared up by the next who opens the tier. Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    try {
      this.#append({ op: 'leave', member: this.#log.member });
    } catch {
      // The log cannot be written: this process counts as dead once it is.
    }
    this.#log.close();
  }

  /** Begins to use the log; false if a new one is about to take its place. */
  #join(): boolean {
    const { member } = this.#log;
    this.#append({ op: 'join', member, quota: this.#quota });
    this.#read();
    const dead = this.#ledger.members.filter((other) => !this.#log.isAlive(other));
    // Whoever joins from now on is not sure either, until somebody has looked.
    if (dead.length > 0)
      this.#append({ op: 'doubt' }, ...dead.map((one) => ({ op: 'leave' as const, member: one })));
    this.#read();
    // Others may have read the lines before they were damaged, and know what this process cannot know.
    return this.#isReady || (this.#isDamaged && this.#isAlone);
  }

  /** Whether the log is right, and nobody is about to put another one in its place. */
  get #isReady(): boolean {
    return !this.#isDamaged && this.#ledger.sealedBy === undefined && this.#log.current;
  }

  async #clearUp(options: OperationOptions): Promise<void> {
    for (const name of [...this.#ledger.abandoned()]) await this.remove(name, options);
    if (!this.#ledger.isComplete) {
      await this.#deleteUnknown(options);
      this.#append({ op: 'known' });
      this.#read();
    }
    if (this.#isDamaged) this.#writeAnew();
    else this.#writeAnewIfLong();
  }

  get #isDamaged(): boolean {
    return this.#ledger.damaged > 0;
  }

  get #isAlone(): boolean {
    return this.#ledger.members.length === 1;
  }

  #writeAnewIfLong(): void {
    // A copy takes two lines: its claim, and that it is placed.
    const tooMany = this.#ledger.lines > 2 * this.#ledger.count + LINES_TOO_MANY;
    if (tooMany && this.#isAlone) this.#writeAnew();
  }

  /** Deletes what is on the tier and not in its log. */
  async #deleteUnknown(options: OperationOptions): Promise<void> {
    const { driver } = this.#parts.tier;
    const unknown: string[] = [];
    for await (const page of driver.list(options)) {
      for (const { key } of page) if (!this.#ledger.isHeld(key)) unknown.push(key);
    }
    for (const key of unknown) {
      // Another process may be using the tier: it claims a name before it writes under it.
      this.#read();
      if (!this.#ledger.isHeld(key)) await driver.delete(key, options);
    }
  }

  #writeAnew(): void {
    const { member } = this.#log;
    this.#append({ op: 'seal', member });
    this.#read();
    if (!this.#isAlone) {
      // Somebody joined before the seal. Leaving and joining again makes it void.
      this.#append({ op: 'leave', member }, { op: 'join', member, quota: this.#quota });
      this.#read();
      return;
    }
    const ledger = new TierLedger();
    const lines = this.#snapshot((record) => ledger.apply(record));
    this.#log.replace(lines);
    this.#ledger = ledger;
  }

  *#snapshot(also: (record: LogRecord) => void): Generator<string> {
    const give = (record: LogRecord) => {
      also(record);
      return this.#codec.encode(record);
    };
    yield give({ op: 'join', member: this.#log.member, quota: this.#quota });
    yield give({ op: 'known' });
    for (const claim of this.#ledger.claims()) yield give({ op: 'claim', ...claim });
    for (const copy of this.#ledger.copies()) yield give({ op: 'kept', ...copy });
  }

  #placed(name: string, content: CopyContent): Copy {
    this.#append({ op: 'placed', name, ...content });
    this.refresh();
    this.#mine.delete(name);
    const copy = this.#ledger.copy(name);
    if (copy !== undefined) return copy;
    throw takenForDeadError(this.tier);
  }

  #free(name: string): void {
    this.#mine.add(name);
    try {
      this.#append({ op: 'free', name });
      this.refresh();
    } catch (error) {
      this.#unfreed.add(name);
      throw error;
    } finally {
      this.#mine.delete(name);
    }
  }

  /** Says what could not be said when it was time. That this failed was told then; it is tried again. */
  #freeLost(): void {
    for (const name of this.#unsure) {
      if (this.#ledger.holds(this.#log.member, name)) this.#unfreed.add(name);
      this.#unsure.delete(name);
    }
    if (this.#unfreed.size === 0) return;
    try {
      this.#append(...[...this.#unfreed].map((name) => ({ op: 'free' as const, name })));
      this.#unfreed.clear();
    } catch (error) {
      if (!isTieredError(error)) throw error;
    }
  }

  /** The key itself where it can be, so that a tier mirrors the dataset; else one that no process will think of again. */
  #newName(key: string): string {
    return this.#ledger.isNew(key) ? key : `${key}@${this.#ledger.lines}`;
  }

  #append(...records: LogRecord[]): void {
    this.#log.append(records.map((record) => this.#codec.encode(record)));
  }

  #read(onFreed?: (copy: Copy) => void): void {
    for (const line of this.#log.readNew()) {
      const record = this.#codec.decode(line);
      const freed = record?.op === 'free' ? this.#ledger.copy(record.name) : undefined;
      this.#ledger.apply(record);
      if (freed !== undefined) onFreed?.(freed);
    }
  }
}
