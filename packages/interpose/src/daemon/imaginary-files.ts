import type { Clock, Namespace } from '@tiered/core';
import fs from 'node:fs';
import xxhash from 'xxhash-wasm';
import type { SourceFile } from '../table/writer.js';
import type { FileKnowledge } from './source-files.js';

const REGULAR_FILE = 0o100000;
const READABLE = 0o444;
/** Objects between two turns of the event loop. */
const AT_A_TIME = 10_000;
/** Of the hash of a key that is the number of its file. The table uses others. */
const INODE_SEED = 4n;
/** A prime, so that two sizes have the same remainder only if they are gigabytes apart. */
const MODULUS = 2 ** 32 - 5;

/**
 * Metadata of files below an imaginary root: objects of a source that is no file system. They belong to this
 * user, are read-only, and their times are 0, because namespaces know none.
 *
 * Costs 4 bytes for each object.
 */
export class ImaginaryFiles implements FileKnowledge {
  readonly #namespace: Namespace;
  readonly #describe: (id: number, file: SourceFile) => void;
  readonly #clock: Clock;
  /** The metadata that is the same for all. */
  readonly #common: Omit<SourceFile, 'bytes' | 'inode'>;
  readonly #inodeOf: (key: string) => bigint;
  /** By object: a hash of the size that programs are told; 0 for none. */
  #told = new Uint32Array(1024);

  /**
   * @param tree The directory that stands for the root: files and directories are on one device.
   * @param describe Told of a file whose object has changed.
   */
  static async over(
    tree: string,
    namespace: Namespace,
    describe: (id: number, file: SourceFile) => void,
    clock: Clock,
  ): Promise<ImaginaryFiles> {
    const hashes = await xxhash();
    // Another one for each key, as far as programs can tell, and the same in each run.
    return new ImaginaryFiles(tree, namespace, describe, clock, (key) => hashes.h64(key, INODE_SEED) | 1n);
  }

  private constructor(
    tree: string,
    namespace: Namespace,
    describe: (id: number, file: SourceFile) => void,
    clock: Clock,
    inodeOf: (key: string) => bigint,
  ) {
    this.#namespace = namespace;
    this.#describe = describe;
    this.#clock = clock;
    this.#inodeOf = inodeOf;
    this.#common = {
      modified: 0n,
      device: fs.statSync(tree, { bigint: true }).dev,
      mode: REGULAR_FILE | READABLE,
      user: process.getuid?.() ?? 0,
      group: process.getgid?.() ?? 0,
    };
  }

  /** The metadata of an object from now on. */
  readonly fileOf = (id: number): SourceFile => {
    const file = this.#fileOf(id);
    if (this.#remember(id, file.bytes)) this.#describe(id, file);
    return file;
  };

  /** The object has a copy, of the version that is known now, or may have changed. */
  has(id: number): void {
    if (this.#remember(id, this.#namespace.sizeOf(id))) this.#describe(id, this.#fileOf(id));
  }

  /** The table has all of it from the start. */
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
    const { modified, device, mode, user, group } = this.#common;
    const inode = this.#inodeOf(this.#namespace.keyOf(id));
    return { bytes: this.#namespace.sizeOf(id), inode, modified, device, mode, user, group };
  }
}
