import { Decoder } from '@msgpack/msgpack';
import {
  HEADER_BYTES,
  malformed,
  MAX_BODY_BYTES,
  MAX_PAYLOAD_BYTES,
  type Frame,
  type FrameKind,
  type FrameSet,
} from './protocol.js';

/** Payload bytes of the last frame. They are a view of the pushed chunk. */
export interface Payload {
  readonly type: 'payload';
  readonly id: number;
  readonly bytes: Uint8Array;
}

/**
 * Bodies are flat and small. A body that claims to be larger is rejected before memory is allocated for it.
 * Binaries are views, and take no memory.
 */
const decoder = new Decoder({
  maxStrLength: MAX_BODY_BYTES,
  maxBinLength: MAX_BODY_BYTES,
  maxArrayLength: 0,
  maxMapLength: 32,
  maxExtLength: 0,
});

/**
 * Finds frames in a stream of bytes that arrives in chunks of any size. It is safe for untrusted bytes: it
 * uses no more memory than its initial 64 KiB, whatever a header claims, and passes payloads on as they come.
 */
export class FrameDecoder<S extends FrameSet> {
  readonly #kinds: ReadonlyMap<number, readonly [keyof S & string, FrameKind]>;
  /** Header and body of the frame that is arriving. */
  readonly #head = Buffer.allocUnsafe(HEADER_BYTES + MAX_BODY_BYTES);
  #filled = 0;
  #headBytes = HEADER_BYTES;
  #payloadLeft = 0;

  /** @param frames The types that the other side may send. */
  constructor(frames: S) {
    this.#kinds = new Map(Object.entries(frames).map(([type, kind]) => [kind.code, [type, kind] as const]));
  }

  /**
   * Yields the frames and payloads that the chunk completes. Iterate to the end before pushing the next
   * chunk. After an error, no more frames can be found.
   * @throws TieredError `TIERED_DATA_CORRUPT` for bytes that break the protocol.
   */
  *push(chunk: Uint8Array): Generator<Frame<S> | Payload, void, undefined> {
    let at = 0;
    while (at < chunk.byteLength) {
      if (this.#payloadLeft > 0) {
        const bytes = chunk.subarray(at, at + this.#payloadLeft);
        at += bytes.byteLength;
        this.#payloadLeft -= bytes.byteLength;
        yield { type: 'payload', id: this.#id, bytes };
        continue;
      }
      const part = chunk.subarray(at, at + this.#headBytes - this.#filled);
      this.#head.set(part, this.#filled);
      at += part.byteLength;
      this.#filled += part.byteLength;
      if (this.#filled === HEADER_BYTES && this.#headBytes === HEADER_BYTES) this.#checkHeader();
      if (this.#filled === this.#headBytes) yield this.#complete();
    }
  }

  get #id(): number {
    return this.#head.readUInt32BE(8);
  }

  get #kind(): readonly [keyof S & string, FrameKind] {
    const code = this.#head.readUInt8(12);
    const kind = this.#kinds.get(code);
    if (kind === undefined) throw malformed(`type ${code} is unknown`);
    return kind;
  }

  #checkHeader(): void {
    const length = this.#head.readUInt32BE(0);
    const bodyBytes = this.#head.readUInt32BE(4);
    const [type, { payload }] = this.#kind;
    if (this.#head.readUIntBE(13, 3) !== 0) throw malformed('the end of a header is not zero');
    if (bodyBytes > MAX_BODY_BYTES || bodyBytes > length)
      throw malformed(`a body of ${bodyBytes} bytes in ${length}`);
    if (length - bodyBytes > (payload ? MAX_PAYLOAD_BYTES : 0))
      throw malformed(`a payload of ${length - bodyBytes} bytes after ${type}`);
    this.#headBytes = HEADER_BYTES + bodyBytes;
  }

  #complete(): Frame<S> {
    const [type, kind] = this.#kind;
    const body = checkedBody(type, kind, this.#head.subarray(HEADER_BYTES, this.#headBytes));
    this.#payloadLeft = this.#head.readUInt32BE(0) + HEADER_BYTES - this.#headBytes;
    this.#filled = 0;
    this.#headBytes = HEADER_BYTES;
    return { type, id: this.#id, body, payloadBytes: this.#payloadLeft } as Frame<S>;
  }
}

function checkedBody(type: string, kind: FrameKind, encoded: Uint8Array): unknown {
  let body: unknown;
  try {
    body = encoded.byteLength === 0 ? undefined : decoder.decode(encoded);
  } catch (cause) {
    throw malformed(`the body of ${type} is no MessagePack within the limits`, cause);
  }
  const result = kind.body.safeParse(body);
  if (!result.success) throw malformed(`the body of ${type} is not what it must be`, result.error);
  return result.data;
}
