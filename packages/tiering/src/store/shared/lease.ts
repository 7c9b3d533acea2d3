/**
 * Bytes that are leased at once beyond what is needed: a 16th of the quota, so that others find some, but at
 * most this many.
 */
const SHARE = 16;
const LARGEST_BLOCK = 256 * 1024 * 1024;
/**
 * Never leased: directories and the index itself grow with each copy, by an amount that is not known in
 * advance.
 */
const HOLD_SHARE = 64;
const LARGEST_HOLD = 32 * 1024 * 1024;
/** Directories that have to be made for a copy; most need no more. */
const USUAL_DEPTH = 4;

/** Bytes of a tier that this process may claim without asking. */
export class Lease {
  /** Bytes of the quota that nobody may lease. */
  readonly hold: number;
  readonly #blockBytes: number;
  readonly #share: number;
  /** Bytes that are leased, according to the index. */
  #leased = 0;
  /** Leased bytes that are claimed here and not yet recorded. */
  #reserved = 0;
  /** Bytes of claims that were too large. Each of them is made again when the next transaction has ended. */
  #wanted = 0;
  /** Bytes that a transaction under way offers to others. */
  #offered = 0;
  /**
   * Whether nothing was claimed between the last two looks, nor since; and whether nothing was claimed since
   * the last one.
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

  /** Bytes that a copy takes on the storage. */
  occupied(bytes: number): number {
    return Math.ceil(bytes / this.#blockBytes) * this.#blockBytes;
  }

  /** Bytes that the directories above the file of a copy take, if all have to be made. */
  directories(key: string): number {
    return this.#blockBytes === 1 ? 0 : (key.split('/').length - 1) * this.#blockBytes;
  }

  /**
   * Bytes of the largest copy that has room in the lease and in what is not leased, under a name of usual
   * depth.
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
   * Called after a look at what others want. A member that has claimed nothing since the look before is idle.
   */
  looked(): void {
    this.#isIdle = this.#isQuiet;
    this.#isQuiet = true;
  }

  /** Adds bytes that the next transaction asks for, besides those that it asks for already. */
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

  /** Gives back bytes that were taken and are not needed. */
  giveBack(occupied: number): void {
    this.#reserved -= occupied;
  }

  /**
   * A claim was recorded, with its directories, and its bytes do not belong to the lease any more; or it was
   * refused.
   */
  recorded(occupied: number, isGranted: boolean): void {
    this.#reserved -= occupied;
    if (isGranted) this.#leased -= occupied;
  }

  /**
   * What the next transaction asks for and gives back.
   * @param others Bytes that others would like to have, or that are leased and not there.
   */
  terms(others: number): { wants: number; spare: number; hold: number } {
    const needed = Math.max(this.#wanted, this.isLow ? this.#share : 0);
    const wants = others > 0 && this.#wanted === 0 ? 0 : Math.max(0, needed - this.#free);
    // Half of it, so that two members that both need some do not send it to and fro. An idle member needs
    // none.
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
