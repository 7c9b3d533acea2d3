/**
 * Allocates memory for bytes that are read. It is not zeroed, and not part of Node's shared pool, which a
 * kept view would keep alive.
 */
export function memoryFor(bytes: number): Uint8Array {
  return new Uint8Array(Buffer.allocUnsafeSlow(bytes).buffer);
}
