/**
 * Bytes that are leased at once beyond the need: a 16th of the quota, so that others get some too, but at
 * most this many.
 */
const SHARE = 16;
const LARGEST_BLOCK = 256 * 1024 * 1024;
/**
 * The part of the quota that is never leased: directories and the index grow with each copy, by an amount
 * that is not known in advance.
 */
const HOLD_SHARE = 64;
const LARGEST_HOLD = 32 * 1024 * 1024;
/** Directories that must be created for a copy. Most copies need no more. */
const USUAL_DEPTH = 4;

/** Bytes of a tier that this process may claim without asking. */
export class Lease {
  /** Bytes of the quota that no member may lease. */
  readonly hold: number;
  readonly #blockBytes: number;
  readonly #share: number;
  /** Bytes that are leased, according to the index. */
  #leased = 0;
  /** Leased bytes that this process has claimed and not yet recorded. */
  #reserved = 0;
  /**
   * Bytes of claims that exceeded the lease. Each of them is repeated once the next transaction has ended.
   */
  #wanted = 0;
  /** Bytes that a transaction in progress offers to others. */
  #offered = 0;
  /**
   * Whether nothing was claimed since the look before the last one; and whether nothing was claimed since the
   * last one.
   */
  #isIdle = false;
  #isQuiet = false;

  /**
   * @param quota Bytes that the tier may hold.
   * @param blockBytes Copies take a multiple of this.
   */
  constructor(quota: number, blockBytes: number) {
    this.#blockBytes = blockBytes;
    this.hold = blockBytes === 1 ? 0 : Math.min(LARGEST_HOLD, Math.floor(quota / HOLD_SHARE));
    this.#share = Math.min(LARGEST_BLOCK, Math.floor(quota / SHARE));
  }

  /** Claimed bytes that are not yet recorded. */
  get reserved(): number {
    return this.#reserved;
  }

  /** Whether more should be requested ahead of the need. */
  get isLow(): boolean {
    return this.#free < this.#share / 2;
  }

  /** Whether there is anything left to claim. */
  get hasSome(): boolean {
    return this.#free > 0;
  }

  /** Bytes that a copy takes on the storage. */
  occupied(bytes: number): number {
    return Math.ceil(bytes / this.#blockBytes) * this.#blockBytes;
  }

  /** Bytes that the directories above the file of a copy take, if all must be created. */
  directories(key: string): number {
    return this.#blockBytes === 1 ? 0 : (key.split('/').length - 1) * this.#blockBytes;
  }

  /**
   * Bytes of the largest copy that fits into the lease and the unleased bytes, under a name of usual depth.
   * @param unleased Negative if more is leased than there is.
   */
  largest(unleased: number): number {
    const above = this.#blockBytes === 1 ? 0 : USUAL_DEPTH * this.#blockBytes;
    const room = Math.max(0, this.#free + unleased - above);
    return Math.floor(room / this.#blockBytes) * this.#blockBytes;
  }

  /** Whether this many bytes, directories included, are leased or can be. */
  hasRoom(occupied: number, unleased: number): boolean {
    return occupied <= this.#free + unleased;
  }

  /**
   * Called after a look at the needs of others. A member that has claimed nothing since the previous look is
   * idle.
   */
  looked(): void {
    this.#isIdle = this.#isQuiet;
    this.#isQuiet = true;
  }

  /** Adds to the bytes that the next transaction requests. */
  want(occupied: number): void {
    this.#wanted += occupied;
  }

  /** Takes bytes for a claim. False if that many are not leased. */
  take(occupied: number, unleased: number): boolean {
    this.#isIdle = this.#isQuiet = false;
    if (occupied > this.#free + Math.min(0, unleased)) return false;
    this.#reserved += occupied;
    return true;
  }

  /** Gives back taken bytes that are not needed. */
  giveBack(occupied: number): void {
    this.#reserved -= occupied;
  }

  /**
   * Called once a claim was recorded, with its directories, and its bytes left the lease; or once it was
   * refused.
   */
  recorded(occupied: number, isGranted: boolean): void {
    this.#reserved -= occupied;
    if (isGranted) this.#leased -= occupied;
  }

  /**
   * The bytes that the next transaction requests and gives back.
   * @param others Bytes that others would like to have, or that are leased and do not exist.
   */
  terms(others: number): { wants: number; spare: number; hold: number } {
    const needed = Math.max(this.#wanted, this.isLow ? this.#share : 0);
    const wants = others > 0 && this.#wanted === 0 ? 0 : Math.max(0, needed - this.#free);
    // Half of it, so that two members in need do not pass it back and forth. An idle member needs none.
    const most = this.#isIdle ? this.#free : Math.ceil(this.#free / 2);
    const spare = others > 0 && wants === 0 ? Math.min(others, most) : 0;
    this.#offered = Math.max(0, spare);
    this.#wanted = 0;
    return { wants, spare: this.#offered, hold: this.hold };
  }

  /** Called once the transaction with these terms has ended. */
  ended(): void {
    this.#offered = 0;
  }

  /** Sets the bytes that are leased now. */
  learn(leased: number): void {
    this.#leased = leased;
  }

  get #free(): number {
    return this.#leased - this.#reserved - this.#offered;
  }
}
