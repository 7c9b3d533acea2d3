import { ABSENT, MetadataContainer } from '@tiered/core/internal';
import type { CopyContent, CopyIdentity, LogRecord } from './log-record.js';

/** A copy on the tier, under its name there. */
export interface Copy extends CopyIdentity, CopyContent {
  readonly name: string;
}

/** What a name holds: a copy, bytes promised to one on its way, or nothing any more. */
type State = 'placed' | 'claimed' | 'free';
const STATES: readonly State[] = ['placed', 'claimed', 'free'];

interface Claim extends CopyIdentity {
  readonly member: string;
}

/**
 * Who may fill how much of a tier, and what is on it: the state that the lines of the tier's log amount to.
 *
 * It is a function of the lines and nothing else, so all processes that share a tier agree on it without asking each
 * other: a claim is granted if, at its place in the log, there is room for it. Copies and claims together never exceed
 * the smallest quota of those who use the tier, whoever appends what when.
 *
 * A name that was used is never used again as long as the log lasts: who still believes in a copy that another
 * process removed finds nothing under its name, and not something else.
 */
export class TierLedger {
  /** Names: size is bytes held, version the copy's, level the state. */
  readonly #names = new MetadataContainer(STATES.indexOf('free'));
  readonly #claims = new Map<number, Claim>();
  readonly #members = new Map<string, number>();
  readonly #datasets = new Map<string, number>();
  readonly #datasetOf: number[] = [];
  /** What there is to know of a copy beside its bytes and one checksum, where there is more. */
  readonly #details = new Map<number, CopyContent>();
  #sums = new BigUint64Array(1024);
  /** Keys whose copy has another name than the key, with the names; and the other way round. */
  readonly #namesOfKey = new Map<string, string[]>();
  readonly #keyOfName = new Map<number, string>();
  #sealedBy: string | undefined;
  #isComplete = false;
  #lines = 0;
  #damaged = 0;
  #placed = 0;
  #usedBytes = 0;
  #claimedBytes = 0;

  /** Bytes of copies. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Bytes promised to copies on their way. */
  get claimedBytes(): number {
    return this.#claimedBytes;
  }

  /** What the tier may hold: the smallest quota of those who use it. */
  get quotaBytes(): number {
    return Math.min(...this.#members.values());
  }

  /** What may still be claimed; negative if the quota is smaller than what is there. */
  get freeBytes(): number {
    return this.quotaBytes - this.#usedBytes - this.#claimedBytes;
  }

  /** Lines so far, those that could not be read included. */
  get lines(): number {
    return this.#lines;
  }

  /** Lines that were not as they had been written. */
  get damaged(): number {
    return this.#damaged;
  }

  /** How many copies there are. */
  get count(): number {
    return this.#placed;
  }

  /** Whether all that is on the tier is known here: not so for a log that is new, or that a power cut may have cut short. */
  get isComplete(): boolean {
    return this.#isComplete && this.#damaged === 0;
  }

  /** Who is about to write the log anew. */
  get sealedBy(): string | undefined {
    return this.#sealedBy;
  }

  get members(): string[] {
    return [...this.#members.keys()];
  }

  /** Takes in a line. */
  apply(record: LogRecord | undefined): void {
    this.#lines += 1;
    if (record === undefined) {
      this.#damaged += 1;
      return;
    }
    switch (record.op) {
      case 'join':
      case 'quota':
        this.#members.set(record.member, record.quota);
        break;
      case 'leave':
        this.#members.delete(record.member);
        if (this.#sealedBy === record.member) this.#sealedBy = undefined;
        break;
      case 'doubt':
      case 'known':
        this.#isComplete = record.op === 'known';
        break;
      case 'seal':
        this.#sealedBy = record.member;
        break;
      case 'claim':
        this.#claim(record);
        break;
      case 'placed':
        this.#place(record);
        break;
      case 'kept':
        this.#keep(record);
        break;
      case 'free':
        this.#free(record.name);
        break;
    }
  }

  /** Whether this member has the claim on this name. */
  holds(member: string, name: string): boolean {
    return this.#claims.get(this.#names.find(name))?.member === member;
  }

  /** Whether a name was never used. */
  isNew(name: string): boolean {
    return this.#names.find(name) === ABSENT;
  }

  /** Whether a name holds bytes: those of a copy, or of one that is on its way. */
  isHeld(name: string): boolean {
    const id = this.#names.find(name);
    return id !== ABSENT && this.#stateOf(id) !== 'free';
  }

  /** Names that were claimed by processes that are gone: there may be anything under them. */
  *abandoned(): Generator<string> {
    for (const [id, { member }] of this.#claims) if (!this.#members.has(member)) yield this.#names.keyOf(id);
  }

  /** The copies of an object, of any version. */
  copiesOf(dataset: string, key: string): Copy[] {
    return this.#namesFor(dataset, key)
      .map((name) => this.copy(name))
      .filter((copy) => copy !== undefined)
      .filter((copy) => copy.dataset === dataset && copy.key === key);
  }

  /** The copy under a name, if there is one. */
  copy(name: string): Copy | undefined {
    const id = this.#names.find(name);
    return id === ABSENT || this.#stateOf(id) !== 'placed' ? undefined : this.#describe(id);
  }

  /** Every claim. */
  *claims(): Generator<CopyIdentity & { member: string; name: string; bytes: number }> {
    for (const [id, claim] of this.#claims) {
      yield { ...claim, name: this.#names.keyOf(id), bytes: this.#names.sizeOf(id) };
    }
  }

  /** Every copy. */
  *copies(): Generator<Copy> {
    for (let id = 0; id < this.#names.count; id++)
      if (this.#stateOf(id) === 'placed') yield this.#describe(id);
  }

  #claim({ member, name, bytes, dataset, key, version }: LogRecord & { op: 'claim' }): void {
    // Who claims has joined. It is not known if that line was lost, and what else was.
    if (!this.#members.has(member)) this.#isComplete = false;
    const known = this.#names.find(name) !== ABSENT || !this.#members.has(member);
    if (known || bytes > this.freeBytes || this.#isTaken(dataset, key, version)) return;
    const id = this.#names.put({ key: name, size: bytes, version });
    this.#setState(id, 'claimed');
    this.#claims.set(id, { member, dataset, key, version });
    this.#remember(id, name, dataset, key);
    this.#claimedBytes += bytes;
  }

  /** Whether this version has a copy, or is getting one. */
  #isTaken(dataset: string, key: string, version: string): boolean {
    return this.#namesFor(dataset, key).some((name) => {
      const id = this.#names.find(name);
      if (id === ABSENT || this.#stateOf(id) === 'free' || this.#names.versionOf(id) !== version)
        return false;
      return this.#datasetNameOf(id) === dataset && this.#keyAt(id) === key;
    });
  }

  /** Names under which copies of an object may be; under the first, its key, may be another dataset's. */
  #namesFor(dataset: string, key: string): string[] {
    return [key, ...(this.#namesOfKey.get(fullKey(dataset, key)) ?? [])];
  }

  #place({ name, bytes, size, chunkBytes, sums }: LogRecord & { op: 'placed' }): void {
    const id = this.#names.find(name);
    const claim = this.#claims.get(id);
    // What is placed was claimed, by so many bytes; else that line was lost.
    const isAsClaimed = id !== ABSENT && bytes === this.#names.sizeOf(id);
    if (!isAsClaimed) this.#isComplete = false;
    // Without a claim its process was taken for dead: it finds out when it looks, and removes the copy.
    if (claim === undefined || !isAsClaimed) return;
    this.#claims.delete(id);
    this.#claimedBytes -= bytes;
    this.#holdCopy(id, { bytes, size, chunkBytes, sums });
  }

  #keep({ name, dataset, key, version, ...content }: LogRecord & { op: 'kept' }): void {
    const id = this.#names.put({ key: name, size: content.bytes, version });
    this.#remember(id, name, dataset, key);
    this.#holdCopy(id, content);
  }

  #holdCopy(id: number, { bytes, size, chunkBytes, sums }: CopyContent): void {
    const [sum = 0n] = sums;
    if (sums.length === 1 && bytes === size) this.#setSum(id, sum);
    else this.#details.set(id, { bytes, size, chunkBytes, sums });
    this.#setState(id, 'placed');
    this.#usedBytes += bytes;
    this.#placed += 1;
  }

  #setSum(id: number, sum: bigint): void {
    if (id >= this.#sums.length) {
      const larger = new BigUint64Array(Math.max(id + 1, this.#sums.length * 2));
      larger.set(this.#sums);
      this.#sums = larger;
    }
    this.#sums[id] = sum;
  }

  #free(name: string): void {
    const id = this.#names.find(name);
    const state = id === ABSENT ? 'free' : this.#stateOf(id);
    if (state === 'free') return;
    const bytes = this.#names.sizeOf(id);
    if (state === 'claimed') this.#claimedBytes -= bytes;
    else {
      this.#usedBytes -= bytes;
      this.#placed -= 1;
    }
    this.#claims.delete(id);
    this.#details.delete(id);
    this.#forget(id, name);
    this.#setState(id, 'free');
  }

  #remember(id: number, name: string, dataset: string, key: string): void {
    const known = this.#datasets.get(dataset) ?? this.#datasets.size;
    this.#datasets.set(dataset, known);
    this.#datasetOf[id] = known;
    if (name === key) return;
    this.#keyOfName.set(id, key);
    const full = fullKey(dataset, key);
    this.#namesOfKey.set(full, [...(this.#namesOfKey.get(full) ?? []), name]);
  }

  #forget(id: number, name: string): void {
    const key = this.#keyOfName.get(id);
    if (key === undefined) return;
    this.#keyOfName.delete(id);
    const full = fullKey(this.#datasetNameOf(id), key);
    const names = (this.#namesOfKey.get(full) ?? []).filter((other) => other !== name);
    if (names.length > 0) this.#namesOfKey.set(full, names);
    else this.#namesOfKey.delete(full);
  }

  #describe(id: number): Copy {
    const name = this.#names.keyOf(id);
    const bytes = this.#names.sizeOf(id);
    // One chunk that is everything: its own size is the size of a chunk.
    const content = this.#details.get(id) ?? {
      bytes,
      size: bytes,
      chunkBytes: Math.max(1, bytes),
      sums: [this.#sums[id] ?? 0n],
    };
    return {
      name,
      key: this.#keyAt(id),
      version: this.#names.versionOf(id),
      dataset: this.#datasetNameOf(id),
      ...content,
    };
  }

  #keyAt(id: number): string {
    return this.#keyOfName.get(id) ?? this.#names.keyOf(id);
  }

  #datasetNameOf(id: number): string {
    const wanted = this.#datasetOf[id];
    for (const [name, number] of this.#datasets) if (number === wanted) return name;
    throw new Error(
      `tiered: entry ${id} of a ledger has no dataset. This is a bug in tiered; please report it.`,
    );
  }

  #stateOf(id: number): State {
    return STATES[this.#names.levelOf(id)] ?? 'free';
  }

  #setState(id: number, state: State): void {
    this.#names.setLevel(id, STATES.indexOf(state));
  }
}

function fullKey(dataset: string, key: string): string {
  return `${dataset}\0${key}`;
}
