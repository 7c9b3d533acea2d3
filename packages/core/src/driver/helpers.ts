import { untilAborted } from '../support/abort.js';
import { TieredError, type TieredErrorDetails } from '../support/errors.js';
import type {
  CreateOptions,
  ObjectWriter,
  Operation,
  OperationOptions,
  ReadOutcome,
  ReadRequest,
  StorageDriver,
  WriteData,
  WriteOptions,
} from './driver.js';
import { inSingleRanges } from './pieces.js';

/** Makes the error of a driver that cannot do the requested operation. */
export function unsupported(driver: StorageDriver, operation: Operation): TieredError {
  return new TieredError('TIERED_UNSUPPORTED', `${driver.name} does not support ${operation}.`, {
    driver: driver.name,
    operation,
  });
}

/** Makes the error of a driver for an object that does not exist. */
export function notFound(
  driver: StorageDriver,
  operation: Operation,
  key: string,
  cause?: unknown,
): TieredError {
  return new TieredError('TIERED_NOT_FOUND', `${driver.name} has no object ${JSON.stringify(key)}.`, {
    cause,
    driver: driver.name,
    operation,
    key,
  });
}

/** Makes the error of a read that asked for a version and found another. `details` add further facts. */
export function versionChanged(
  driver: StorageDriver,
  operation: Operation,
  key: string,
  details: Pick<TieredErrorDetails, 'cause' | 'attempts'> = {},
): TieredError {
  return new TieredError(
    'TIERED_SOURCE_CHANGED',
    `${driver.name}: ${JSON.stringify(key)} was changed since it was listed.`,
    { ...details, driver: driver.name, operation, key },
  );
}

/**
 * Implements `readMany` for drivers that have no better way than one `readInto` per range, all in flight at
 * once.
 */
export async function readEach(
  driver: StorageDriver,
  requests: readonly ReadRequest[],
  options: OperationOptions,
): Promise<readonly ReadOutcome[]> {
  const { requests: ranges, join } = inSingleRanges(requests);
  const outcomes = await Promise.all(
    ranges.map(({ key, offset, target, version }) =>
      readOutcome(driver.readInto(key, target, { offset, version, signal: options.signal })),
    ),
  );
  return join(outcomes);
}

/** Turns the promise of a read's number of bytes into its outcome. Never rejects. */
export function readOutcome(read: Promise<number>): Promise<ReadOutcome> {
  return read.then(
    (bytes) => ({ bytes }),
    (error: unknown) => ({ error }),
  );
}

/**
 * Passes on the pieces of a `write` and checks them against the announced size. An abort ends them at once,
 * even while their producer stalls.
 * @throws TieredError `TIERED_SIZE_MISMATCH` as soon as there are too many bytes, or at the end if there are
 * too few.
 */
export async function* checkedPieces(
  driver: StorageDriver,
  key: string,
  data: WriteData,
  options: WriteOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { size, signal } = options;
  signal?.throwIfAborted();
  if (data instanceof Uint8Array) {
    assertSize(driver, key, data, size);
    yield data;
    return;
  }
  let seen = 0;
  for await (const piece of untilAborted(data, signal)) {
    signal?.throwIfAborted();
    seen += piece.byteLength;
    if (seen > size) throw sizeMismatch(driver, key, size, `but at least ${seen} came`);
    yield piece;
  }
  if (seen < size) throw sizeMismatch(driver, key, size, `but only ${seen} came`);
}

/**
 * Checks data that comes in one piece, for drivers that do not write in pieces.
 * @throws TieredError `TIERED_SIZE_MISMATCH` if its length is not the announced size.
 */
export function assertSize(
  driver: StorageDriver,
  key: string,
  { byteLength }: Uint8Array,
  size: number,
): void {
  if (byteLength !== size) throw sizeMismatch(driver, key, size, `but ${byteLength} came`);
}

function sizeMismatch(driver: StorageDriver, key: string, size: number, relation: string): TieredError {
  return new TieredError(
    'TIERED_SIZE_MISMATCH',
    `${driver.name}: writing ${JSON.stringify(key)} announced ${size} bytes, ${relation}; nothing was published.`,
    { driver: driver.name, operation: 'write', key },
  );
}

/**
 * Joins the pieces of a `write`, for drivers that write an object at once. Data in a single piece is not
 * copied.
 * @param allocate Makes memory for all of them.
 */
export async function gathered(
  pieces: AsyncIterable<Uint8Array>,
  data: WriteData,
  allocate: () => Uint8Array,
): Promise<Uint8Array> {
  const whole = data instanceof Uint8Array ? data : allocate();
  let filled = 0;
  for await (const piece of pieces) {
    if (piece !== whole) whole.set(piece, filled);
    filled += piece.byteLength;
  }
  return whole;
}

/**
 * Makes a writer for drivers that can only `write` whole objects. It keeps all parts in memory until they are
 * published. The `create` of such a driver checks its signal, and returns this.
 */
export function bufferedWriter(driver: StorageDriver, key: string, { size }: CreateOptions): ObjectWriter {
  const bytes = new Uint8Array(size);
  return writerInto(bytes, ({ signal }) => driver.write(key, bytes, { size, signal }));
}

/** Makes a writer that gathers its parts in memory and publishes that memory at the end. */
export function writerInto(bytes: Uint8Array, publish: ObjectWriter['publish']): ObjectWriter {
  return {
    writeAt: async (part, { offset, signal }) => {
      signal?.throwIfAborted();
      bytes.set(part, offset);
    },
    readInto: async (target, { offset, signal }) => {
      signal?.throwIfAborted();
      const range = bytes.subarray(offset, offset + target.byteLength);
      target.set(range);
      return range.byteLength;
    },
    publish,
    discard: async () => undefined,
  };
}
