import type { Namespace } from '@tiered/core';
import type { BigIntStats } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import pLimit from 'p-limit';
import xxhash from 'xxhash-wasm';
import type { SourceFile } from '../table/writer.js';

/** Looks at the source at the same time. It has better things to do. */
const AT_A_TIME = 4;
/** Looks that wait. Further files are looked at another time: programs ask the source until then. */
const MOST = 10_000;

/** The metadata of an object's file, for programs. */
export type FileOf = (id: number) => SourceFile;

/** Knows the metadata of files, for programs. */
export interface FileKnowledge {
  /** The object has a copy, of the version that is known now. */
  readonly has: (id: number) => void;
  /** The metadata of objects from the start. */
  readonly fileOf?: FileOf;
  /** A program reads a copy of the object. */
  readonly want: (id: number) => void;
  /** Objects may have changed. */
  readonly renew?: (signal: AbortSignal) => Promise<void>;
  /** Programs have been told nothing yet, as they look into a new table. */
  readonly forgetAll?: () => void;
  readonly close?: () => Promise<void>;
}

/** The parts that a look at files of the source needs. */
export interface SourceFilesParts {
  /** The real path of the source. */
  readonly root: string;
  readonly namespace: Namespace;
  /** Told what programs are to be told of an object's file: just its size until it was looked at. */
  readonly describe: (id: number, file: SourceFile | number) => void;
}

/**
 * Finds out the metadata of files whose copies programs read: once for each version, when it is placed
 * or first read. Costs 4 bytes for each object.
 */
export class SourceFiles implements FileKnowledge {
  readonly #parts: SourceFilesParts;
  readonly #hash: (text: string) => number;
  readonly #limit = pLimit(AT_A_TIME);
  /** Looks that wait or are under way, by object. */
  readonly #wanted = new Map<number, Promise<void>>();
  /** By object: a hash of the version whose file programs are told of; 0 for none. */
  #described = new Uint32Array(1024);
  #isClosed = false;

  static async over(parts: SourceFilesParts): Promise<SourceFiles> {
    const hashes = await xxhash();
    return new SourceFiles(parts, (text) => hashes.h32(text) || 1);
  }

  private constructor(parts: SourceFilesParts, hash: (text: string) => number) {
    this.#parts = parts;
    this.#hash = hash;
  }

  /** The object has a copy, of the version that is known now. Its file is looked at before long. */
  has(id: number): void {
    const { namespace, describe } = this.#parts;
    const described = this.#described[id] ?? 0;
    if (described === this.#versionOf(id)) return;
    if (described !== 0) {
      this.#described[id] = 0;
      describe(id, namespace.sizeOf(id));
    }
    this.want(id);
  }

  /** Looks at an object's file before long, if that was not done yet, and unless too many wait for it. */
  want(id: number): void {
    const isDone = this.#isClosed || (this.#described[id] ?? 0) !== 0 || this.#wanted.has(id);
    if (isDone || this.#wanted.size >= MOST) return;
    this.#wanted.set(
      id,
      this.#limit(() => this.#look(id)).finally(() => this.#wanted.delete(id)),
    );
  }

  /** Programs have been told nothing yet, as they look into a new table. */
  forgetAll(): void {
    this.#described.fill(0);
  }

  /** Waits for the looks that are under way. The others are not made. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#wanted.values());
  }

  async #look(id: number): Promise<void> {
    if (this.#isClosed) return;
    const { root, namespace, describe } = this.#parts;
    const version = this.#versionOf(id);
    // Whatever is wrong with the file, whoever opens it learns it from the source. So it is with links: what
    // they lead to may change.
    const stat = await fs
      .lstat(path.join(root, namespace.keyOf(id)), { bigint: true })
      .catch(() => undefined);
    // Of a file with several names programs are told how many there are, which the table does not know.
    if (stat?.isFile() !== true || stat.nlink !== 1n || version !== this.#versionOf(id)) return;
    const file = sourceFileOf(stat);
    if (file?.bytes !== namespace.sizeOf(id)) return;
    this.#remember(id, version);
    describe(id, file);
  }

  #versionOf(id: number): number {
    return this.#hash(this.#parts.namespace.versionOf(id));
  }

  #remember(id: number, version: number): void {
    if (id >= this.#described.length) {
      const larger = new Uint32Array(Math.max(2 * this.#described.length, this.#parts.namespace.count));
      larger.set(this.#described);
      this.#described = larger;
    }
    this.#described[id] = version;
  }
}

/** The answer of a file system about a file, of which any number may be wrong. */
export type FileFacts = Pick<BigIntStats, 'size' | 'ino' | 'mtimeNs' | 'dev' | 'mode' | 'uid' | 'gid'>;

const fits = (bits: number, number: bigint) => BigInt.asUintN(bits, number) === number;

/**
 * The metadata of a file, for programs. Undefined if a table cannot hold it, such as a time after the year
 * 2262: programs ask the source about such a file.
 */
export function sourceFileOf({ size, ino, mtimeNs, dev, mode, uid, gid }: FileFacts): SourceFile | undefined {
  const isTold = mode !== 0n && fits(53, size) && [mode, uid, gid].every((number) => fits(32, number));
  if (!isTold || BigInt.asIntN(64, mtimeNs) !== mtimeNs) return undefined;
  return {
    bytes: Number(size),
    inode: inodeOf(ino),
    modified: mtimeNs,
    device: dev,
    mode: Number(mode),
    user: Number(uid),
    group: Number(gid),
  };
}

/** The number of a file, which Node takes for negative from 2 ** 63 on. */
export function inodeOf(ino: bigint): bigint {
  return BigInt.asUintN(64, ino);
}
