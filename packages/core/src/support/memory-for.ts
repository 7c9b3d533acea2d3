import { TieredError } from './errors.js';

/**
 * Allocates memory for a read. It is not zeroed, and not part of Node's shared pool, which a retained view
 * would keep alive.
 * @param key The object, for the error.
 * @throws TieredError `TIERED_TOO_LARGE` if the memory is not available, or if Node has no buffers of that
 * size (Node 20: beyond 4 GiB).
 */
export function memoryFor(bytes: number, key?: string): Uint8Array<ArrayBuffer> {
  try {
    // Users do not get a Buffer, because its `slice` is a view, and they expect a copy.
    return new Uint8Array(Buffer.allocUnsafeSlow(bytes).buffer);
  } catch (cause) {
    throw tooLargeError(key, bytes, cause);
  }
}

/** Makes the error for too many bytes to allocate at once. */
export function tooLargeError(key: string | undefined, bytes: number, cause: unknown): TieredError {
  const what = key === undefined ? 'What is read' : JSON.stringify(key);
  return new TieredError(
    'TIERED_TOO_LARGE',
    `${what} has ${bytes} bytes, for which there is no memory at once; read it in parts with Hierarchy.readInto.`,
    { key, cause },
  );
}
