/** Bytes that were read, or a code below 0: see `outcomes.ts`. */
type Outcome = number;

/**
 * Called with what happened in a pool: a job, how many of its items are done, and whether it is over. Job -1 is over
 * when the threads of a pool that stops have ended.
 */
type Deliver = (job: number, done: number, isOver: boolean) => void;

/**
 * Numbers that come back from reads: each outcome, then the reads in the order in which they ended, and a last one. Of
 * a batch that is the milliseconds that its files took the threads, of a piece 0 if its file has no name any more, as
 * far as it was looked at.
 */
type ReadResults = Float64Array;

/**
 * The functions of the addon; src-c/addon.c has them. All check what they are given, and throw TypeErrors and
 * RangeErrors. Pools and jobs are numbers; a job's is chosen by the caller.
 */
export interface Binding {
  /** A pool; a negative errno if the root cannot be opened. */
  open(root: string, threads: number, mayHang: boolean, idleMs: number, deliver: Deliver): number;
  /** Lets the threads end, of which -1 is told. Nothing more can be begun. */
  stop(pool: number): void;
  /** From here on there is no such pool. What is under way is abandoned, and waited for as far as it uses memory. */
  release(pool: number): void;
  setThreads(pool: number, threads: number): void;
  /** Writes: threads, idle ones, those left with something that was aborted, and items under way. */
  counts(pool: number, into: Float64Array): void;
  /** Jobs, pools and threads of this process. */
  live(): number;
  /** The job is over as soon as nothing uses its memory. */
  abort(pool: number, job: number): void;
  /**
   * @param texts Keys, and behind them versions or nothing, with NUL between.
   * @param numbers Four for each read: which memory, where in it, how many bytes, where in the file.
   * @param isFixed Whether no memory is transferred or shrunk until the job is over; if one is all the same, freed
   * memory is written to.
   */
  readFiles(
    pool: number,
    job: number,
    texts: string,
    numbers: Float64Array,
    keep: readonly [ReadResults, ...Uint8Array[]],
    hasProgress: boolean,
    isFixed: boolean,
  ): void;
  /** The descriptor, or a code below 0. */
  openFile(pool: number, job: number, key: string, keep: readonly [Float64Array]): void;
  /**
   * Into all of a target.
   * @param version Of the file, looked at afterwards; empty for any.
   */
  readPiece(
    pool: number,
    job: number,
    fd: number,
    offset: number,
    version: string,
    keep: readonly [ReadResults, Uint8Array],
    isFixed: boolean,
  ): void;
  /** What is in memory already; a negative errno, among them EAGAIN, else. */
  tryRead(fd: number, target: Uint8Array, offset: number): Outcome;
  /**
   * @param texts The temporary and the final key, with NUL between.
   * @param numbers Mode, 1 if it is synced, 1 if only if absent, and bytes of each sum.
   * @param keep Room for outcome and step, and for the sums; the parts.
   * @param isFixed Whether no part is transferred or shrunk until the job is over; if one is all the same, freed memory
   * is written to the file.
   */
  writeFile(
    pool: number,
    job: number,
    texts: string,
    numbers: Float64Array,
    keep: readonly [Float64Array, BigUint64Array, ...Uint8Array[]],
    isFixed: boolean,
  ): void;
  /** The descriptor of new memory, of 1 byte to 1 GiB; else a negative errno, as of all that follow. */
  makeMemory(bytes: number): number;
  /** All of it, as long as anything uses the buffer. EINVAL if it is not sealed, or of another length. */
  mapMemory(fd: number, bytes: number): ArrayBuffer | number;
  /** Only of what was mapped. It is zeros then, for all who have mapped it. */
  emptyMemory(buffer: ArrayBuffer): number;
  /** It has no bytes from here on, and is unmapped soon. */
  detachMemory(buffer: ArrayBuffer): void;
  giveDescriptor(socket: number, fd: number): number;
  /** The descriptor that has come. */
  takeDescriptor(socket: number): number;
  /** The descriptor of a socket that does not block, and that said this. */
  connectTo(path: string, greeting: Uint8Array): number;
  userBehind(socket: number): number;
}
