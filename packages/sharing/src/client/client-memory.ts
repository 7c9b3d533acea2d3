import { TieredError } from '@tiered/core';
import { MemoryRequest, MOST_SHARED_BYTES, native, type SharedMemory } from '@tiered/native';
import { CLIENT_FRAMES, encodeHead, malformed, type SampleHead } from '../wire/protocol.js';
import { isTrustedUser, type Trust } from './socket-trust.js';

/** The memory that a server offers. */
export interface MemoryOffer {
  readonly token: string;
  readonly bytes: number;
}

/**
 * Memory that a server shares only with this client. It holds samples, and the server is told when they are
 * released.
 */
export class ClientMemory {
  readonly #memory: SharedMemory;
  readonly #byteLength: number;
  readonly #released: number[] = [];

  private constructor(memory: SharedMemory) {
    this.#memory = memory;
    this.#byteLength = memory.buffer.byteLength;
  }

  /**
   * Receives the memory that a server offers, over a connection that is closed afterwards. Undefined if that
   * fails for any reason; samples then come through the socket.
   * @param ask Asks the server to send the memory, and resolves once it has.
   */
  static async receive(
    path: string,
    trust: Trust,
    { token, bytes }: MemoryOffer,
    ask: () => Promise<void>,
  ): Promise<ClientMemory | undefined> {
    if (bytes > MOST_SHARED_BYTES || !native().available) return undefined;
    try {
      using request = new MemoryRequest(path, encodeHead(CLIENT_FRAMES.attach, 0, { token }));
      if (!isTrustedUser(request.user, trust)) return undefined;
      await ask();
      return new ClientMemory(request.receive(bytes));
    } catch {
      return undefined;
    }
  }

  /**
   * Returns the bytes of a sample.
   * @throws TieredError `TIERED_DATA_CORRUPT` if they would be outside the memory; `TIERED_VIEW_TRANSFERRED`
   * if a user of a sample has transferred the memory.
   */
  bytesOf({ size, offset = -1 }: SampleHead): Uint8Array {
    const { buffer } = this.#memory;
    const all = this.#byteLength;
    if (offset < 0 || offset > all || size > all - offset)
      throw malformed(`a sample of ${size} bytes lies at ${offset} of ${all}`);
    if (buffer.byteLength < all) throw transferred();
    return new Uint8Array(buffer, offset, size);
  }

  /** Records that a piece is no longer in use. The server is told with the next take. */
  release(piece: number): void {
    this.#released.push(piece);
  }

  /**
   * Returns the frames that tell the server of releases, each once. There is one frame for each run of
   * consecutive numbers, so one is enough for a batch.
   */
  releases(): Buffer[] {
    const pieces = this.#released.splice(0).sort((a, b) => a - b);
    const frames: Buffer[] = [];
    for (let first = 0, next = 1; next <= pieces.length; next++) {
      const start = pieces[first] ?? 0;
      if (pieces[next] === start + next - first) continue;
      frames.push(encodeHead(CLIENT_FRAMES.release, 0, { first: start, count: next - first }));
      first = next;
    }
    return frames;
  }

  /**
   * Returns the pages to the system at once. Otherwise they would stay until the garbage collector finds that
   * no view uses them.
   */
  close(): void {
    this.#memory.empty();
  }
}

function transferred(): TieredError {
  return new TieredError(
    'TIERED_VIEW_TRANSFERRED',
    'The buffer behind a sample was transferred, and is that of all samples of this client; transfer a copy (data.slice()), or connect with sharesMemory: false.',
  );
}
