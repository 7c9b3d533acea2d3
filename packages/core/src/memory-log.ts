import type { SharedLog } from './driver.js';

/** A log in the memory of this process, for drivers whose storage is that memory, and for those that have no log. */
export class MemoryLogStorage {
  readonly #open = new Set<string>();
  #lines: string[] = [];
  #opened = 0;

  /** Opens it; any number may have it open at the same time. */
  open(): SharedLog {
    this.#opened += 1;
    const member = `memory.${this.#opened}`;
    this.#open.add(member);
    return new MemoryLog(this, member);
  }

  get lines(): string[] {
    return this.#lines;
  }

  replace(lines: string[]): void {
    this.#lines = lines;
  }

  isOpen(member: string): boolean {
    return this.#open.has(member);
  }

  closed(member: string): void {
    this.#open.delete(member);
  }
}

class MemoryLog implements SharedLog {
  readonly member: string;
  readonly #storage: MemoryLogStorage;
  #lines: string[];
  #read = 0;

  constructor(storage: MemoryLogStorage, member: string) {
    this.#storage = storage;
    this.#lines = storage.lines;
    this.member = member;
  }

  get current(): boolean {
    return this.#storage.lines === this.#lines;
  }

  append(lines: readonly string[]): void {
    for (const line of lines) this.#lines.push(line);
  }

  readNew(): Iterable<string> {
    const lines = this.#lines.slice(this.#read);
    this.#read = this.#lines.length;
    return lines;
  }

  isAlive(member: string): boolean {
    return this.#storage.isOpen(member);
  }

  replace(lines: Iterable<string>): void {
    this.#lines = [...lines];
    this.#read = this.#lines.length;
    this.#storage.replace(this.#lines);
  }

  close(): void {
    this.#storage.closed(this.member);
  }
}
