/** Lists and objects within each other, as deep as batches of a sensible form go. */
const DEEPEST = 4;

/**
 * Prepares what a worker made to be sent. Memory is handed over rather than copied where all of it belongs to
 * one array. An array that is a part of larger memory is copied alone, because otherwise all of that memory
 * would be.
 * @param transfer Gets the memory that is handed over.
 */
export function toSend(value: unknown, transfer: ArrayBuffer[], depth = 0): unknown {
  if (ArrayBuffer.isView(value)) return viewToSend(value, transfer);
  if (typeof value !== 'object' || value === null || depth === DEEPEST) return value;
  if (Array.isArray(value)) return value.map((item) => toSend(item, transfer, depth + 1));
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, toSend(item, transfer, depth + 1)]),
  );
}

function viewToSend(view: ArrayBufferView, transfer: ArrayBuffer[]): ArrayBufferView {
  const { buffer } = view;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === view.byteLength) {
    if (!transfer.includes(buffer)) transfer.push(buffer);
    return view;
  }
  if (!('slice' in view)) return view;
  const copy = (view as Uint8Array).slice();
  // `slice` of a Buffer is a view.
  const own = copy.buffer === buffer ? Uint8Array.from(copy) : copy;
  if (own.buffer instanceof ArrayBuffer && own.buffer.byteLength === own.byteLength)
    transfer.push(own.buffer);
  return own;
}
