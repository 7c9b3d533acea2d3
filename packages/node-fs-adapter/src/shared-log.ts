import fs from 'node:fs';
import { TieredError, type SharedLog } from '@tiered/core';
import { fromFsError } from './errors.js';
import { namerOf, uniqueName } from './process-identity.js';
import type { RootDirectory } from './root-directory.js';

/** Only the owner may know and change what the processes tell each other. */
const MODE = 0o600;
/** Appended writes go to the end at that moment, whole, also if several processes append at the same time. */
const { O_RDWR, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW } = fs.constants;

/** Bytes that are read, or put into a new log, at once. */
const BLOCK = 1024 * 1024;

/** For so long a log is not touched only if the processes of other hosts are gone, in milliseconds: a day. */
const FORGOTTEN_AFTER_MS = 24 * 60 * 60 * 1000;

/**
 * A line ends in CR LF. An append begins with an LF: should the one before have been cut short, because its process
 * was killed or the disk was full, its last line then ends without a CR, and readers leave it out.
 */
const LINE_END = '\r\n';
const LF = '\n';

/** The logs that this module has open. */
const membersHere = new Set<string>();

/** What a `FileLog` needs to know of its driver. */
export interface FileLogOptions {
  readonly root: RootDirectory;
  readonly driver: string;
  /** It holds nothing any more. */
  readonly ended: () => void;
}

/** The log of a directory: one file that every process appends to, by blocking calls of a few microseconds each. */
export class FileLog implements SharedLog {
  readonly member = uniqueName();
  readonly #options: FileLogOptions;
  /** Whether nobody has touched the log for so long, when it was opened, that other hosts' processes are gone. */
  readonly #forgotten: boolean;
  #fd: number | undefined;
  readonly #block = Buffer.allocUnsafeSlow(BLOCK);
  /** Where the next block begins. */
  #position = 0;
  /** What came before it, of a line that has not come to its end. */
  #begun: Buffer[] = [];
  /** Lines that were read and not given yet. */
  #lines: Iterator<string> = [].values();

  /** Opens the log, and makes it if there is none. @throws errors of the system. */
  constructor(options: FileLogOptions) {
    this.#options = options;
    const now = timeOf(options.root);
    this.#fd = fs.openSync(options.root.logPath, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, MODE);
    this.#forgotten = now - fs.fstatSync(this.#fd).mtimeMs > FORGOTTEN_AFTER_MS;
    membersHere.add(this.member);
  }

  get current(): boolean {
    return this.#explained(() => {
      const there = fs.statSync(this.#options.root.logPath, { bigint: true, throwIfNoEntry: false });
      const open = fs.fstatSync(this.#descriptor, { bigint: true });
      return there?.ino === open.ino && there.dev === open.dev;
    });
  }

  append(lines: readonly string[]): void {
    const bytes = Buffer.from(LF + lines.map((line) => line + LINE_END).join(''));
    const written = this.#explained(() => fs.writeSync(this.#descriptor, bytes));
    if (written < bytes.byteLength) throw this.#cutShort(written, bytes.byteLength);
  }

  *readNew(): Generator<string, void, undefined> {
    do {
      for (let next = this.#lines.next(); next.done !== true; next = this.#lines.next()) {
        if (next.value.endsWith('\r')) yield next.value.slice(0, -1);
      }
    } while (this.#explained(() => this.#readBlock()));
  }

  isAlive(member: string): boolean {
    const namer = namerOf(member);
    if (namer === 'here') return membersHere.has(member);
    return namer === 'elsewhere' ? !this.#forgotten : namer === 'running';
  }

  replace(lines: Iterable<string>): void {
    this.#explained(() => {
      const old = this.#descriptor;
      const temporary = this.#options.root.temporaryPath();
      const fd = fs.openSync(temporary, O_RDWR | O_APPEND | O_CREAT | O_EXCL, MODE);
      try {
        const size = writeLines(fd, lines);
        fs.renameSync(temporary, this.#options.root.logPath);
        this.#goOnWith(fd, size);
        fs.closeSync(old);
      } catch (error) {
        fs.closeSync(fd);
        fs.rmSync(temporary, { force: true });
        throw error;
      }
    });
  }

  close(): void {
    if (this.#fd === undefined) return;
    fs.closeSync(this.#fd);
    this.#fd = undefined;
    membersHere.delete(this.member);
    this.#options.ended();
  }

  /** Goes on with another file, from there. */
  #goOnWith(fd: number, position: number): void {
    this.#fd = fd;
    this.#position = position;
    this.#begun = [];
    this.#lines = [].values();
  }

  /** Reads on; false if nothing came. */
  #readBlock(): boolean {
    const count = fs.readSync(this.#descriptor, this.#block, 0, BLOCK, this.#position);
    if (count === 0) return false;
    this.#position += count;
    const read = this.#block.subarray(0, count);
    const end = read.lastIndexOf(LF) + 1;
    if (end > 0) {
      const whole = Buffer.concat([...this.#begun, read.subarray(0, end)]).toString();
      this.#begun = [];
      this.#lines = whole.split(LF).values();
    }
    // Copied: the block is read into again.
    if (end < count) this.#begun.push(Buffer.from(read.subarray(end)));
    return true;
  }

  get #descriptor(): number {
    if (this.#fd === undefined) throw new TieredError('TIERED_CLOSED', `${this.#name}: its log is closed.`);
    return this.#fd;
  }

  get #name(): string {
    return this.#options.driver;
  }

  #explained<T>(calls: () => T): T {
    try {
      return calls();
    } catch (error) {
      throw fromFsError(error, this.#name, 'openLog', '');
    }
  }

  /** A file takes less than it is given only where there is no room for more. */
  #cutShort(written: number, size: number): TieredError {
    return new TieredError(
      'TIERED_NO_SPACE',
      `${this.#name}: its log took ${written} of ${size} bytes; make room on the disk.`,
      { driver: this.#name, operation: 'openLog' },
    );
  }
}

/** What time it is for the storage, whose clock the times of its files come from, in milliseconds. */
function timeOf(root: RootDirectory): number {
  const temporary = root.temporaryPath();
  fs.closeSync(fs.openSync(temporary, 'wx', MODE));
  const { mtimeMs } = fs.statSync(temporary);
  fs.rmSync(temporary);
  return mtimeMs;
}

/** Writes lines into an empty file; returns its size. */
function writeLines(fd: number, lines: Iterable<string>): number {
  let size = 0;
  let text = '';
  const flush = () => {
    const bytes = Buffer.from(text);
    for (let done = 0; done < bytes.byteLength;) done += fs.writeSync(fd, bytes, done);
    size += bytes.byteLength;
    text = '';
  };
  for (const line of lines) {
    text += line + LINE_END;
    if (text.length >= BLOCK) flush();
  }
  flush();
  return size;
}
