import { Chain, type Link } from '@tiered/core/internal';

/** A command that waits. */
interface Waiting {
  readonly bytes: number;
  readonly start: () => void;
}

/**
 * Bounds the commands in flight, and their bytes. Commands start in order of arrival. A command larger than
 * the bound runs alone.
 */
export class Places {
  readonly #mostCommands: number;
  readonly #mostBytes: number;
  readonly #waiting = new Chain<Waiting>();
  #commands = 0;
  #bytes = 0;

  constructor(commands: number, bytes: number) {
    this.#mostCommands = commands;
    this.#mostBytes = bytes;
  }

  /**
   * Calls `start` in its turn, perhaps at once. Call `leave` with the same number of bytes.
   * @returns A function that removes the command from the queue. It does nothing once the command has
   * started.
   */
  enter(bytes: number, start: () => void): () => void {
    const link: Link<Waiting> = this.#waiting.add({ bytes, start });
    this.#admit();
    return () => void this.#waiting.remove(link);
  }

  /** Frees the place of a started command. */
  leave(bytes: number): void {
    this.#commands -= 1;
    this.#bytes -= bytes;
    this.#admit();
  }

  #admit(): void {
    for (let next = this.#waiting.first; next !== undefined; next = this.#waiting.first) {
      const { bytes, start } = next.value;
      const isFree = this.#commands < this.#mostCommands && this.#bytes + bytes <= this.#mostBytes;
      if (!isFree && this.#commands > 0) return;
      this.#waiting.remove(next);
      this.#commands += 1;
      this.#bytes += bytes;
      start();
    }
  }
}
