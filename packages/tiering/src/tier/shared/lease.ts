/** Leased at once beside what is needed: a 16th of the quota, so that others find something, but not more than this, in bytes. */
const SHARE = 16;
const LARGEST_BLOCK = 256 * 1024 * 1024;
/** Never leased: lists of names in directories and the index itself grow with each copy, before anybody can say by how much. */
const HOLD_SHARE = 64;
const LARGEST_HOLD = 32 * 1024 * 1024;
/** Directories that have to be made for most copies at most. */
const USUAL_DEPTH = 4;

/** Bytes of a tier that this process may claim without asking anybody. */
export class Lease {
  /** Bytes of the quota that nobody may lease. */
  readonly hold: number;
  readonly #blockBytes: number;
  readonly #share: number;
  /** Leased, as the index says. */
  #leased = 0;
  /** Of that, claimed here and not yet recorded. */
  #reserved = 0;
  /** Asked for by claims that were too large, each of which is made again when the next transaction has ended. */
  #wanted = 0;
  /** Offered to others by a transaction that is under way. */
  #offered = 0;
  /** Whether nothing was claimed between the last two looks, nor since; and since the last one. */
  #isIdle = false;
  #isQuiet = false;

  /**
   * @param quota Bytes the tier may hold.
   * @param blockBytes What copies take is a multiple of it.
   */
  constructor(quota: number, blockBytes: number) {
    this.#blockBytes = blockBytes;
    this.hold = blockBytes === 1 ? 0 : Math.min(LARGEST_HOLD, Math.floor(quota / HOLD_SHARE));
    this.#share = Math.min(LARGEST_BLOCK, Math.floor(quota / SHARE));
  }

  /** Bytes that are claimed and not yet recorded. */
  get reserved(): number {
    return this.#reserved;
  }

  /** Whether more should be asked for before it is needed. */
  get isLow(): boolean {
    return this.#free < this.#share / 2;
  }

  /** Whether there is anything left to claim. */
  get hasSome(): boolean {
    return this.#free > 0;
  }

  /** What a copy takes on the storage. */
  occupied(bytes: number): number {
    return Math.ceil(bytes / this.#blockBytes) * this.#blockBytes;
  }

  /** What the directories above a name take, if all have to be made. */
  directories(name: string): number {
    return this.#blockBytes === 1 ? 0 : (name.split('/').length - 1) * this.#blockBytes;
  }

  /**
   * Bytes of the largest copy that has room in the lease and in what is not leased, under a name that is not uncommonly deep.
   * @param unleased Negative if more is leased than there is.
   */
  largest(unleased: number): number {
    const above = this.#blockBytes === 1 ? 0 : USUAL_DEPTH * this.#blockBytes;
    const room = Math.max(0, this.#free + unleased - above);
    return Math.floor(room / this.#blockBytes) * this.#blockBytes;
  }

  /** Whether so many bytes, directories among them, are leased or can be. */
  hasRoom(occupied: number, unleased: number): boolean {
    return occupied <= this.#free + unleased;
  }

  /** It was looked at what others want: who has claimed nothing since the look before is idle. */
  looked(): void {
    this.#isIdle = this.#isQuiet;
    this.#isQuiet = true;
  }

  /** So much is to be asked for by the next transaction, beside what others have asked for it. */
  want(occupied: number): void {
    this.#wanted += occupied;
  }

  /** Takes bytes for a claim; false if that many are not leased. */
  take(occupied: number, unleased: number): boolean {
    this.#isIdle = this.#isQuiet = false;
    if (occupied > this.#free + Math.min(0, unleased)) return false;
    this.#reserved += occupied;
    return true;
  }

  /** What was taken for directories is not needed any more: those that were made are in the index. */
  giveBack(occupied: number): void {
    this.#reserved -= occupied;
  }

  /** A claim is in the index, and its bytes are not the lease's any more, or it is not. */
  recorded(occupied: number, isGranted: boolean): void {
    this.#reserved -= occupied;
    if (isGranted) this.#leased -= occupied;
  }

  /**
   * What the next transaction is to ask for and to give.
   * @param others Bytes that others would like to have, or that are leased and not there.
   */
  terms(others: number): { wants: number; spare: number; hold: number } {
    const needed = Math.max(this.#wanted, this.isLow ? this.#share : 0);
    const wants = others > 0 && this.#wanted === 0 ? 0 : Math.max(0, needed - this.#free);
    // Half, so that two who both need some do not send it to and fro; who is idle needs none.
    const most = this.#isIdle ? this.#free : Math.ceil(this.#free / 2);
    const spare = others > 0 && wants === 0 ? Math.min(others, most) : 0;
    this.#offered = Math.max(0, spare);
    this.#wanted = 0;
    return { wants, spare: this.#offered, hold: this.hold };
  }

  /** The transaction that these terms were for has ended. */
  ended(): void {
    this.#offered = 0;
  }

  /** What is leased now. */
  learn(leased: number): void {
    this.#leased = leased;
  }

  get #free(): number {
    return this.#leased - this.#reserved - this.#offered;
  }
}
