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
 * The functions of the addon; see src-c/addon.c. All check their arguments, and throw TypeErrors and
 * RangeErrors. Pools and jobs are numbers. The caller chooses the number of a job.
 */
export interface Binding {
  /** Opens a pool. Returns a negative errno if the root cannot be opened. */
  open(root: string, threads: number, mayHang: boolean, idleMs: number, deliver: Deliver): number;
  /** Lets the threads end, and then reports job -1. No new work can start. */
  stop(pool: number): void;
  /** Removes the pool. Work in flight is abandoned. Waits for calls that use memory. */
  release(pool: number): void;
  /** Reports the rest. To be called in a later turn than the one that reported job -2. */
  goOn(pool: number): void;
  setThreads(pool: number, threads: number): void;
  /** Writes the numbers of threads, idle threads, threads left with an aborted item, and items in flight. */
  counts(pool: number, into: Float64Array): void;
  /** Returns the number of jobs, pools and threads of this process. */
  live(): number;
  /** Aborts a job, which is over as soon as nothing uses its memory. */
  abort(pool: number, job: number): void;
  /**
   * @param texts Keys, followed by versions or nothing, separated by NUL.
   * @param reads Number of reads.
   * @param numbers Five for each read: index of the memory, offset in it, number of bytes, offset in the
   * file, and number of pieces. Then two for each piece: its offset, relative to that of the read, and its
   * number of bytes.
   * @param isFixed Whether no memory is transferred or shrunk until the job is over. If some is all the same,
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
   * @param texts A key, followed by a version or nothing, separated by NUL.
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
   * @param version Version of the file, checked afterwards. Empty for any.
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
   * @param texts A key, followed by a version or nothing, separated by NUL.
   * @param into Receives the number of bytes read, or a code below 0 (see `outcomes.ts`), and 1 if the thread
   * has waited.
   */
  readFileNow(pool: number, texts: string, target: Uint8Array, offset: number, into: Float64Array): void;
  /**
   * @param texts The temporary and the final key, separated by NUL.
   * @param numbers Mode, 1 if synced, 1 if only if absent, and bytes per sum.
   * @param keep Memory for the outcome and the step, and for the sums; the parts.
   * @param isFixed Whether no part is transferred or shrunk until the job is over. If one is all the same,
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
  /**
   * Returns the descriptor of new memory, of 1 byte to 1 GiB; else a negative errno, as do all functions
   * below.
   */
  makeMemory(bytes: number): number;
  /**
   * Maps all of it, for as long as anything uses the buffer. EINVAL if it is not sealed, or of another
   * length.
   */
  mapMemory(fd: number, bytes: number): ArrayBuffer | number;
  /** Only for mapped memory. All processes that have mapped it then read zeros. */
  emptyMemory(buffer: ArrayBuffer): number;
  /** The buffer has no bytes from here on. It is unmapped soon. */
  detachMemory(buffer: ArrayBuffer): void;
  giveDescriptor(socket: number, fd: number): number;
  /** Returns a descriptor that has arrived. */
  takeDescriptor(socket: number): number;
  /** Returns the descriptor of a non-blocking socket that has sent this greeting. */
  connectTo(path: string, greeting: Uint8Array): number;
  userBehind(socket: number): number;
  /**
   * Locks a number of an open file (`F_OFD_SETLK`), or unlocks it. Never waits: `EAGAIN` if another open file
   * holds it.
   * @param how 0 unlocks it, 1 shares it with others, 2 locks it exclusively.
   */
  lockNumber(fd: number, number: number, how: 0 | 1 | 2): number;
  /** 1 if another open file holds it in any way, else 0. */
  isNumberLocked(fd: number, number: number): number;
}
