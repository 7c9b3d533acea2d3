import { Chain, type Link } from '@tiered/core/internal';

/** A command that waits. */
interface Waiting {
  readonly bytes: number;
  readonly start: () => void;
}

/**
 * Bounds the commands that are under way, and their bytes. They begin in order of arrival. One that is larger
 * than the bound is alone.
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
   * Calls `start` in its turn, perhaps at once. The command leaves with the same number of bytes.
   * @returns A function that takes it out of the queue; does nothing once it has started.
   */
  enter(bytes: number, start: () => void): () => void {
    const link: Link<Waiting> = this.#waiting.add({ bytes, start });
    this.#admit();
    return () => void this.#waiting.remove(link);
  }

  /** Gives the place of a command that started to others. */
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
