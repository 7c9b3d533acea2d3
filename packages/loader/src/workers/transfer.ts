/** A thread's result, prepared for sending. */
export interface ToSend {
  readonly data: unknown;
  /** The memory to transfer. */
  readonly transfer: readonly ArrayBuffer[];
}

/**
 * Prepares a thread's result for sending. The receiver owns it alone: arrays are copied here, into memory
 * that is transferred. So the receiver's work does not depend on the number of bytes, and memory that a
 * transform or a format keeps stays in place.
 * @param isOwn Whether the arrays are the only users of their memory. Then the memory itself is transferred.
 */
export function toSend(value: unknown, isOwn: boolean): ToSend {
  const sending = new Sending(isOwn);
  return { data: sending.prepared(value), transfer: [...sending.transfer] };
}

class Sending {
  readonly transfer = new Set<ArrayBuffer>();
  readonly #isOwn: boolean;
  /** Prepared values. A value that occurs twice is sent once, as in every message. */
  readonly #prepared = new Map<object, unknown>();

  constructor(isOwn: boolean) {
    this.#isOwn = isOwn;
  }

  prepared(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const known = this.#prepared.get(value);
    if (known !== undefined) return known;
    if (ArrayBuffer.isView(value)) return this.#note(value, this.#view(value));
    if (Array.isArray(value)) return this.#list(value);
    if (value instanceof Map) return this.#map(value);
    if (value instanceof Set) return this.#set(value);
    return isRecord(value) ? this.#record(value) : value;
  }

  #list(value: readonly unknown[]): unknown[] {
    const list = this.#note<unknown[]>(value, []);
    for (const item of value) list.push(this.prepared(item));
    return list;
  }

  #record(value: object): object {
    // Without a prototype, since a JSON sample with the key `__proto__` would set it.
    const record = this.#note(value, Object.create(null) as Record<string, unknown>);
    for (const [name, item] of Object.entries(value)) record[name] = this.prepared(item);
    return record;
  }

  #map(value: ReadonlyMap<unknown, unknown>): Map<unknown, unknown> {
    const map = this.#note(value, new Map<unknown, unknown>());
    for (const [key, item] of value) map.set(this.prepared(key), this.prepared(item));
    return map;
  }

  #set(value: ReadonlySet<unknown>): Set<unknown> {
    const set = this.#note(value, new Set<unknown>());
    for (const item of value) set.add(this.prepared(item));
    return set;
  }

  #view(view: ArrayBufferView): ArrayBufferView {
    const { buffer, byteLength } = view;
    const isAlone = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
    const own = this.#isOwn && isAlone ? view : copyOf(view);
    this.transfer.add(own.buffer as ArrayBuffer);
    return own;
  }

  /** Notes a value before its contents, which may refer back to it. */
  #note<T>(value: object, prepared: T): T {
    this.#prepared.set(value, prepared);
    return prepared;
  }
}

/**
 * Whether the properties of a value are sent, which includes instances of classes. Values that Node sends
 * specially show no properties.
 */
function isRecord(value: object): boolean {
  return Object.prototype.toString.call(value) === '[object Object]' && Object.keys(value).length > 0;
}

/** A copy in its own memory. `slice` may return a view, as it does for a Buffer. */
function copyOf(view: ArrayBufferView): ArrayBufferView {
  const { buffer, byteOffset, byteLength } = view;
  const { buffer: own } = new Uint8Array(new Uint8Array(buffer, byteOffset, byteLength));
  if (view instanceof DataView) return new DataView(own);
  if (Buffer.isBuffer(view)) return new Uint8Array(own);
  return new (view.constructor as new (memory: ArrayBuffer) => ArrayBufferView)(own);
}
