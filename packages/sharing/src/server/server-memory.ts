import { SharedMemory } from '@tiered/native';
import { Arena, type Block } from '@tiered/prefetch/internal';
import { malformed } from '../wire/protocol.js';

/** The place of a sample in shared memory. */
export interface SharedPiece {
  readonly offset: number;
  /** The number by which the client releases it. */
  readonly piece: number;
}

/**
 * Memory that a server shares with a single client. Samples are copied into it, and the client reads them in
 * place. The server only writes to it, so nothing that a client does there affects others.
 */
export class ServerMemory {
  readonly #memory: SharedMemory;
  readonly #arena: Arena;
  /** Pieces that the client holds. */
  readonly #lent = new Map<number, Block>();
  #pieces = 0;

  /**
   * Makes the memory and sends it to the client.
   * @param socket The descriptor of a connection of this client.
   * @throws NativeError for an error of the system.
   */
  constructor(socket: number, bytes: number) {
    this.#memory = SharedMemory.give(socket, bytes);
    this.#arena = new Arena(this.#memory.buffer);
  }

  /** Copies a sample into the memory. Undefined if there is no room for it now, or if it has no bytes. */
  place(data: Uint8Array): SharedPiece | undefined {
    if (data.byteLength === 0) return undefined;
    const block = this.#arena.take(data.byteLength);
    if (block === undefined) return undefined;
    block.bytes.set(data);
    const piece = this.#pieces++;
    this.#lent.set(piece, block);
    return { offset: block.bytes.byteOffset, piece };
  }

  /**
   * Takes back pieces with consecutive numbers.
   * @throws TieredError `TIERED_DATA_CORRUPT` if the client does not hold one of them.
   */
  release(first: number, count: number): void {
    if (count > this.#lent.size) throw malformed(`it gives back ${count} pieces of memory`);
    for (let piece = first; piece < first + count; piece++) {
      const block = this.#lent.get(piece);
      if (block === undefined) throw malformed(`it gives back piece ${piece} of memory`);
      this.#lent.delete(piece);
      block.free();
    }
  }

  /** Ends placing. The client's samples stay valid for as long as it keeps the memory mapped. */
  close(): void {
    this.#memory.detach();
  }
}
