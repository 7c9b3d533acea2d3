import {
  InterceptingDriver,
  type CreateOptions,
  type DriverCall,
  type ObjectWriter,
  type Operation,
  type OperationOptions,
  type SharedLog,
  type StorageDriver,
} from '@tiered/core';
import fs from 'node:fs';

/** When a process kills itself: before, within or after its n-th call of this kind; `any` counts all that change a tier. */
export interface KillPoint {
  readonly call: Operation | 'append' | 'replace' | 'any';
  /** From 1. */
  readonly nth: number;
  readonly when: 'before' | 'within' | 'after';
}

/** Calls that only look. */
const LOOKS = ['open', 'openIndex', 'list', 'stat', 'read', 'readInto', 'usage'];

/** As `kill -9` from outside, at this very instruction. */
export function die(): never {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('a process outlived SIGKILL');
}

/** Kills the process at one of the calls that pass through it. */
export class KillingDriver extends InterceptingDriver {
  readonly #point: KillPoint;
  readonly #logPath: string;
  #calls = 0;

  constructor(inner: StorageDriver, point: KillPoint, logPath: string) {
    super(inner);
    this.#point = point;
    this.#logPath = logPath;
  }

  /** Half of a part is written before the process dies within a write. */
  override async create(key: string, options: CreateOptions): Promise<ObjectWriter> {
    const writer = await super.create(key, options);
    if (this.#point.when !== 'within' || this.#point.call !== 'writeAt') return writer;
    return {
      ...writer,
      writeAt: async (bytes, at) => {
        if (!this.#isDue('writeAt')) return writer.writeAt(bytes, at);
        await writer.writeAt(bytes.subarray(0, bytes.byteLength >> 1), at);
        die();
      },
    };
  }

  override async openLog(options: OperationOptions): Promise<SharedLog> {
    const log = await super.openIndex(options);
    return new KillingLog(log, this.#logPath, this.#point.when, (call) => this.#isDue(call));
  }

  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    const { call: kind, when } = this.#point;
    const isCountedInCreate = kind === 'writeAt' && when === 'within';
    if (isCountedInCreate || !this.#isDue(call.operation)) return call.proceed();
    if (when === 'before') die();
    const running = call.proceed();
    if (when === 'within') die();
    await running;
    die();
  }

  #isDue(call: Operation | 'append' | 'replace'): boolean {
    const { call: wanted, nth } = this.#point;
    if (wanted === 'any' ? LOOKS.includes(call) : wanted !== call) return false;
    this.#calls += 1;
    return this.#calls === nth;
  }
}

/** A log whose process dies at an append, in the middle of a line too, or while the log is written anew. */
class KillingLog implements SharedLog {
  readonly #log: SharedLog;
  readonly #path: string;
  readonly #when: KillPoint['when'];
  readonly #isDue: (call: 'append' | 'replace') => boolean;

  constructor(
    log: SharedLog,
    logPath: string,
    when: KillPoint['when'],
    isDue: (call: 'append' | 'replace') => boolean,
  ) {
    this.#log = log;
    this.#path = logPath;
    this.#when = when;
    this.#isDue = isDue;
  }

  get member(): string {
    return this.#log.member;
  }

  get current(): boolean {
    return this.#log.current;
  }

  append(lines: readonly string[]): void {
    if (!this.#isDue('append')) {
      this.#log.append(lines);
      return;
    }
    if (this.#when === 'within') {
      const text = `\n${lines.join('\r\n')}`;
      fs.appendFileSync(this.#path, text.slice(0, text.length >> 1));
    }
    if (this.#when === 'after') this.#log.append(lines);
    die();
  }

  readNew(): Iterable<string> {
    return this.#log.readNew();
  }

  isAlive(member: string): boolean {
    return this.#log.isAlive(member);
  }

  replace(lines: Iterable<string>): void {
    if (!this.#isDue('replace')) {
      this.#log.replace(lines);
      return;
    }
    if (this.#when === 'within') this.#log.replace(firstOf(lines));
    if (this.#when === 'after') this.#log.replace(lines);
    die();
  }

  close(): void {
    this.#log.close();
  }
}

/** The first line; whoever asks for the second is killed. */
function* firstOf(lines: Iterable<string>): Generator<string, void, undefined> {
  for (const [i, line] of [...lines].entries()) {
    if (i > 0) die();
    yield line;
  }
}
