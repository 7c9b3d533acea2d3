import type { Clock, Namespace } from '@tiered/core';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import type { SourceFile } from '../table/writer.js';
import type { FileKnowledge } from './source-files.js';

const REGULAR_FILE = 0o100000;
const READABLE = 0o444;
/** Objects between two turns of the event loop. */
const AT_A_TIME = 10_000;
/** A prime, so that two sizes have the same remainder only if they are gigabytes apart. */
const MODULUS = 2 ** 32 - 5;

/**
 * What programs are told of files that are none: objects of a source that is no file system. They belong to
 * this user, nobody may write them, and their times are 0, because namespaces know none.
 *
 * Costs 4 bytes for each object.
 */
export class ImaginaryFiles implements FileKnowledge {
  readonly #namespace: Namespace;
  readonly #describe: (id: number, file: SourceFile) => void;
  readonly #clock: Clock;
  readonly #device: bigint;
  /** By object: a hash of the size that programs are told; 0 for none. */
  #told = new Uint32Array(1024);

  /**
   * @param tree The directory that stands for the root: files and directories are on one device.
   * @param describe Told of a file whose object has changed.
   */
  constructor(
    tree: string,
    namespace: Namespace,
    describe: (id: number, file: SourceFile) => void,
    clock: Clock,
  ) {
    this.#namespace = namespace;
    this.#describe = describe;
    this.#clock = clock;
    this.#device = fs.statSync(tree, { bigint: true }).dev;
  }

  /** What programs are told of an object from now on. */
  readonly fileOf = (id: number): SourceFile => {
    const file = this.#fileOf(id);
    if (this.#remember(id, file.bytes)) this.#describe(id, file);
    return file;
  };

  /** The object has a copy, of the version that is known now, or may have changed. */
  has(id: number): void {
    if (this.#remember(id, this.#namespace.sizeOf(id))) this.#describe(id, this.#fileOf(id));
  }

  /** Of what the table has from the start, nothing is wanted. */
  want(): void {}

  /** The source was listed again: says of objects that they have another size by now. */
  async renew(signal: AbortSignal): Promise<void> {
    for (let id = 0; id < Math.min(this.#told.length, this.#namespace.count); id++) {
      // Of others nothing has been said that may be wrong.
      if (this.#told[id] !== 0) this.has(id);
      if (id % AT_A_TIME !== 0) continue;
      await this.#clock.turn();
      signal.throwIfAborted();
    }
  }

  /** Whether that is another size than programs were told before. */
  #remember(id: number, bytes: number): boolean {
    if (id >= this.#told.length) {
      const larger = new Uint32Array(Math.max(2 * this.#told.length, this.#namespace.count));
      larger.set(this.#told);
      this.#told = larger;
    }
    const hash = (bytes % MODULUS) + 1;
    if (this.#told[id] === hash) return false;
    this.#told[id] = hash;
    return true;
  }

  #fileOf(id: number): SourceFile {
    return {
      bytes: this.#namespace.sizeOf(id),
      inode: inodeOf(this.#namespace.keyOf(id)),
      modified: 0n,
      device: this.#device,
      mode: REGULAR_FILE | READABLE,
      user: process.getuid?.() ?? 0,
      group: process.getgid?.() ?? 0,
    };
  }
}

/** Another one for each key, as far as programs can tell, and the same in each run. */
function inodeOf(key: string): bigint {
  return createHash('sha256').update(key).digest().readBigUInt64LE() | 1n;
}
