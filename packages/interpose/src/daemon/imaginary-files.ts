import type { Namespace } from '@tiered/core';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import type { SourceFile } from '../table/writer.js';

const REGULAR_FILE = 0o100000;
const READABLE = 0o444;

/**
 * What programs are told of files that are none: objects of a source that is no file system. They belong to
 * this user, nobody may write them, and their times are 0, because namespaces know none.
 */
export class ImaginaryFiles {
  readonly #namespace: Namespace;
  readonly #describe: (id: number, file: SourceFile) => void;
  readonly #device: bigint;

  /**
   * @param tree The directory that stands for the root: files and directories are on one device.
   * @param describe Told of a file whose object has changed.
   */
  constructor(tree: string, namespace: Namespace, describe: (id: number, file: SourceFile) => void) {
    this.#namespace = namespace;
    this.#describe = describe;
    this.#device = fs.statSync(tree, { bigint: true }).dev;
  }

  fileOf(id: number): SourceFile {
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

  /** The object has a copy, of the version that is known now. */
  has(id: number): void {
    this.#describe(id, this.fileOf(id));
  }

  /** Of what the table has from the start, nothing is wanted, and nothing forgotten. */
  want(): void {}

  forgetAll(): void {}

  close(): void {}
}

/** Another one for each key, as far as programs can tell, and the same in each run. */
function inodeOf(key: string): bigint {
  return createHash('sha256').update(key).digest().readBigUInt64LE() | 1n;
}
