/**
 * Called with the progress of a pool: a job, how many of its items are done, and whether it is over. Job -1
 * is over when the threads of a stopping pool have ended. Job -2 asks for `goOn` in a later turn of the event
 * loop: enough was copied in this one.
 */
type Deliver = (job: number, done: number, isOver: boolean) => void;

/**
 * The numbers that reads return: each outcome, then the reads in the order in which they ended, and a last
 * number. For a batch, the last number is the milliseconds that threads spent on its files. For a piece, it
 * is 0 if the file was checked and has no name any more.
 */
type ReadResults = Float64Array;

/**
 * The functions of the addon; src-c/addon.c has them. All check what they are given, and throw TypeErrors and
 * RangeErrors. Pools and jobs are numbers; a job's is chosen by the caller.
 */
export interface Binding {
  /** Opens a pool. Returns a negative errno if the root cannot be opened. */
  open(root: string, threads: number, mayHang: boolean, idleMs: number, deliver: Deliver): number;
  /** Lets the threads end, and reports job -1 then. Nothing more can be begun. */
  stop(pool: number): void;
  /** Removes the pool. What is under way is abandoned. Waits for calls that use memory. */
  release(pool: number): void;
  /** Tells the rest. To be called in a later turn than job -2 was told in. */
  goOn(pool: number): void;
  setThreads(pool: number, threads: number): void;
  /** Writes the numbers of threads, idle threads, threads left with an aborted item, and items under way. */
  counts(pool: number, into: Float64Array): void;
  /** Returns the number of jobs, pools and threads of this process. */
  live(): number;
  /** Aborts a job, which is over as soon as nothing uses its memory. */
  abort(pool: number, job: number): void;
  /**
   * @param texts Keys, and behind them versions or nothing, with NUL between.
   * @param reads How many there are.
   * @param numbers Five for each read: which memory, where in it, how many bytes, where in the file, and how
   * many pieces. Behind them two for each piece: from where in the file, counted from there, and how many
   * bytes.
   * @param isFixed Whether no memory is transferred or shrunk until the job is over; if one is all the same,
   * freed memory is written to.
   */
  readFiles(
    pool: number,
    job: number,
    texts: string,
    reads: number,
    numbers: Float64Array,
    keep: readonly [ReadResults, ...Uint8Array[]],
    hasProgress: boolean,
    isFixed: boolean,
  ): void;
  /**
   * Reads a range of a file into all of a target.
   * @param texts A key, and behind it a version or nothing, with NUL between.
   */
  readFile(
    pool: number,
    job: number,
    texts: string,
    offset: number,
    keep: readonly [ReadResults, Uint8Array],
    isFixed: boolean,
  ): void;
  /** Opens a file. The outcome is the descriptor, or a code below 0. */
  openFile(pool: number, job: number, key: string, keep: readonly [Float64Array]): void;
  /**
   * Reads a piece of an open file into all of a target.
   * @param version Version of the file, checked afterwards; empty for any.
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
  /**
   * Opens a file, reads a range and closes it, in the calling thread.
   * @param texts A key, and behind it a version or nothing, with NUL between.
   * @param into Gets the bytes that were read, or a code below 0 (see `outcomes.ts`), and 1 if the thread
   * has waited.
   */
  readFileNow(pool: number, texts: string, target: Uint8Array, offset: number, into: Float64Array): void;
  /**
   * @param texts The temporary and the final key, with NUL between.
   * @param numbers Mode, 1 if it is synced, 1 if only if absent, and bytes of each sum.
   * @param keep Room for outcome and step, and for the sums; the parts.
   * @param isFixed Whether no part is transferred or shrunk until the job is over; if one is all the same,
   * freed memory is written to the file.
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
  /** Only of mapped memory. All processes that have mapped it read zeros then. */
  emptyMemory(buffer: ArrayBuffer): number;
  /** It has no bytes from here on, and is unmapped soon. */
  detachMemory(buffer: ArrayBuffer): void;
  giveDescriptor(socket: number, fd: number): number;
  /** The descriptor that has come. */
  takeDescriptor(socket: number): number;
  /** The descriptor of a socket that does not block, and that said this. */
  connectTo(path: string, greeting: Uint8Array): number;
  userBehind(socket: number): number;
  /**
   * Locks a number of an open file (`F_OFD_SETLK`), or lets go of it. Never waits: `EAGAIN` if another open
   * file has it.
   * @param how 0 lets go, 1 shares it with others, 2 has it alone.
   */
  lockNumber(fd: number, number: number, how: 0 | 1 | 2): number;
  /** 1 if another open file has it in any way, else 0. */
  isNumberLocked(fd: number, number: number): number;
}
