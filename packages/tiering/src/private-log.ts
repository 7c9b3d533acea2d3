import type { SharedLog } from '@tiered/core';

/** The log of a tier that nobody else uses and nobody remembers: lines are forgotten once they were read. */
export class PrivateLog implements SharedLog {
  readonly member = 'private';
  readonly current = true;
  #unread: string[] = [];

  append(lines: readonly string[]): void {
    this.#unread.push(...lines);
  }

  readNew(): Iterable<string> {
    const lines = this.#unread;
    this.#unread = [];
    return lines;
  }

  isAlive(): boolean {
    return true;
  }

  replace(lines: Iterable<string>): void {
    // Lines are made as they are taken; nobody needs them.
    Array.from(lines);
  }

  close(): void {
    this.#unread = [];
  }
}
