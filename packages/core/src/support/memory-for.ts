/** Memory for bytes that are read: not zeroed, and not of Node's shared pool, which a view that is kept would keep. */
export function memoryFor(bytes: number): Uint8Array {
  return new Uint8Array(Buffer.allocUnsafeSlow(bytes).buffer);
}
