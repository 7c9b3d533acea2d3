import { SharedMemory } from '@tiered/native';
import { Arena, type Block } from '../../staging/arena.js';
import { malformed } from '../wire/protocol.js';

/** Where in shared memory a sample lies. */
export interface SharedPiece {
  readonly offset: number;
  /** By which the client gives it back. */
  readonly piece: number;
}

/**
 * Memory that a server shares with one client, and with no other: samples are copied in there, and the client
 * looks at them where they lie. The server only writes to it, so that nothing that a client does in there
 * concerns anybody else.
 */
export class ServerMemory {
  readonly #memory: SharedMemory;
  readonly #arena: Arena;
  /** What the client has. */
  readonly #lent = new Map<number, Block>();
  #pieces = 0;

  /**
   * Makes memory and gives it to the client.
   * @param socket A connection of its, by its descriptor.
   * @throws NativeError of the system.
   */
  constructor(socket: number, bytes: number) {
    this.#memory = SharedMemory.give(socket, bytes);
    this.#arena = new Arena(this.#memory.buffer);
  }

  /** Copies a sample in there; undefined if there is no room for it now, or if it has no bytes. */
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
   * The client gives back pieces, whose numbers follow each other.
   * @throws TieredError `TIERED_DATA_CORRUPT` if it does not have one of them.
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

  /** Nothing is placed any more. What the client has stays there as long as the client keeps it mapped. */
  close(): void {
    this.#memory.detach();
  }
}
