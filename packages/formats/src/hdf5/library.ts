import { TieredError } from '@tiered/core';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Module } from 'h5wasm';

/** The type of a dataset, and its shape. */
export type Metadata = ReturnType<(typeof Module)['get_dataset_metadata']>;

/** Bytes of a file, as HDF5 asks for them. */
export interface FileBytes {
  readonly size: number;
  /** Fills the target from this place on. False if the bytes are not there. */
  read(position: number, target: Uint8Array): boolean;
}

/** What is done to the chunks of a dataset. */
export interface Filter {
  readonly name: string;
  /** Whether it can be undone. */
  readonly isThere: boolean;
}

/** What a path names. */
export type PathKind = 'dataset' | 'group' | 'other';

/** A part of a dataset: where it begins, and how long it is, by axis. */
export interface Part {
  readonly start: readonly number[];
  readonly count: readonly number[];
}

/** The C library as it is compiled: of its file system, what a file of our own needs. */
type Hdf5 = typeof Module & {
  readonly FS: {
    mkdirTree(path: string): void;
    writeFile(path: string, bytes: Uint8Array): void;
    createFile(
      parent: string,
      name: string,
      properties: object,
      canRead: boolean,
      canWrite: boolean,
    ): FileNode;
    unlink(path: string): void;
    getStream(descriptor: number): { stream_ops: object };
    readonly ErrnoError: new (errno: number) => Error;
  };
  _malloc(bytes: number): number;
  _free(at: number): void;
};
interface FileNode {
  readonly id: number;
  readonly mode: number;
  node_ops: object;
  stream_ops: object;
}

const EIO = 29;
const DIRECTORY = '/tiered';
/** Of what the library says of one failure. */
const MOST_TEXT = 16 * 1024;
const BEGINNING = new Date(0);

/** Filters that are compiled into the library, by their numbers: gzip to scale-offset. */
const BUILT_IN = 6;
/** Those of h5wasm-plugins. */
const PLUGINS = new Map([
  [307, 'bz2'],
  [32_000, 'lzf'],
  [32_001, 'blosc'],
  [32_004, 'lz4'],
  [32_008, 'bshuf'],
  [32_015, 'zstd'],
  [32_026, 'blosc2'],
]);

let library: Promise<Library> | undefined;

/**
 * Loads the library, once in each thread.
 * @throws TieredError `TIERED_UNSUPPORTED` where it is not installed.
 */
export function loadLibrary(): Promise<Library> {
  library ??= import('h5wasm').then(
    async ({ default: h5wasm }) => new Library((await h5wasm.ready) as unknown as Hdf5),
    (cause: unknown) => {
      const message = 'HDF5 is read by the package h5wasm: npm install h5wasm@0.8 h5wasm-plugins.';
      throw new TieredError('TIERED_UNSUPPORTED', message, { cause });
    },
  );
  return library;
}

/** HDF5 compiled to WebAssembly. Its calls wait for nothing: what it reads has to be there. */
export class Library {
  readonly hdf5: Hdf5;
  #text = '';
  #files = 0;
  readonly #plugins = new Set<string>();

  constructor(hdf5: Hdf5) {
    this.hdf5 = hdf5;
    hdf5.FS.mkdirTree(DIRECTORY);
    // It prints its errors; they are kept for those that we throw.
    const stderr = hdf5.FS.getStream(2);
    const write = (_: unknown, bytes: Int8Array, offset: number, length: number) => {
      if (this.#text.length < MOST_TEXT)
        this.#text += Buffer.from(bytes.subarray(offset, offset + length)).toString('latin1');
      return length;
    };
    stderr.stream_ops = { ...stderr.stream_ops, write };
  }

  /** Whether it has a filter. Loads what has to be loaded. */
  hasFilter(id: number): boolean {
    if (id <= BUILT_IN) return true;
    const name = PLUGINS.get(id);
    if (name === undefined) return false;
    if (this.#plugins.has(name)) return true;
    const file = `libH5Z${name}.so`;
    const [directory = ''] = this.hdf5.get_plugin_search_paths();
    try {
      const bytes = readFileSync(createRequire(import.meta.url).resolve(`h5wasm-plugins/plugins/${file}`));
      this.hdf5.FS.mkdirTree(directory);
      this.hdf5.FS.writeFile(`${directory}/${file}`, bytes);
    } catch {
      return false;
    }
    this.#plugins.add(name);
    return true;
  }

  /** What it said last of why something failed. */
  takeReason(): string {
    const reasons = [...this.#text.matchAll(/^ +#\d+: .*?\(\): (.*)$/gm)].map(([, reason]) => reason);
    this.#text = '';
    return reasons.at(-1) ?? 'it cannot be read';
  }

  /** Opens a file. Undefined if that fails. */
  open(bytes: FileBytes): Hdf5File | undefined {
    const { FS } = this.hdf5;
    const name = `${this.#files++}`;
    const node = FS.createFile(DIRECTORY, name, {}, true, false);
    const { id, mode } = node;
    const times = { atime: BEGINNING, mtime: BEGINNING, ctime: BEGINNING };
    const attributes = {
      dev: 1,
      ino: id,
      mode,
      nlink: 1,
      uid: 0,
      gid: 0,
      rdev: 0,
      blksize: 4096,
      blocks: 1,
      ...times,
    };
    node.node_ops = { ...node.node_ops, getattr: () => ({ ...attributes, size: bytes.size }) };
    node.stream_ops = {
      ...node.stream_ops,
      llseek: (stream: { position: number }, offset: number, whence: 0 | 1 | 2) =>
        offset + ([0, stream.position, bytes.size][whence] ?? 0),
      read: (_: unknown, heap: Int8Array, offset: number, length: number, position: number) => {
        const here = Math.max(0, Math.min(length, bytes.size - position));
        const target = new Uint8Array(heap.buffer, heap.byteOffset + offset, here);
        if (!bytes.read(position, target)) throw new FS.ErrnoError(EIO);
        return here;
      },
    };
    const path = `${DIRECTORY}/${name}`;
    const file = this.hdf5.open(path, this.hdf5.H5F_ACC_RDONLY, false);
    if (file > 0n) return new Hdf5File(this, file, path);
    FS.unlink(path);
    return undefined;
  }
}

/** An open file. What fails returns undefined. */
export class Hdf5File implements Disposable {
  readonly #library: Library;
  readonly #hdf5: Hdf5;
  readonly #file: bigint;
  readonly #path: string;

  constructor(library: Library, file: bigint, path: string) {
    this.#library = library;
    this.#hdf5 = library.hdf5;
    this.#file = file;
    this.#path = path;
  }

  /** The names in a group, sorted. */
  names(group: string): readonly string[] | undefined {
    return tried(() => this.#hdf5.get_names(this.#file, group, false).sort());
  }

  kindOf(path: string): PathKind | undefined {
    const type = tried(() => this.#hdf5.get_type(this.#file, path));
    if (type === undefined || type < 0) return undefined;
    return type === this.#hdf5.H5G_DATASET ? 'dataset' : type === this.#hdf5.H5G_GROUP ? 'group' : 'other';
  }

  metadataOf(dataset: string): Metadata | undefined {
    return tried(() => this.#hdf5.get_dataset_metadata(this.#file, dataset));
  }

  /** The filters of a dataset. */
  filtersOf(dataset: string): readonly Filter[] | undefined {
    const filters = tried(() => this.#hdf5.get_dataset_filters(this.#file, dataset));
    return filters?.map(({ id, name }) => ({
      name: name || `filter ${id}`,
      isThere: this.#library.hasFilter(id),
    }));
  }

  /**
   * Reads a part of a dataset, as it is stored, and gives it to `use`. Lengths and pointers are in the memory
   * of the library, until `use` returns.
   */
  read<T>(dataset: string, { start, count }: Part, bytes: number, use: (at: number) => T): T | undefined {
    const at = this.#hdf5._malloc(Math.max(1, bytes));
    if (at === 0) return undefined;
    this.#hdf5.HEAPU8.fill(0, at, at + bytes);
    const counts = count.map(BigInt);
    const axes = count.length === 0 ? null : counts;
    const [from, steps] = axes === null ? [null, null] : [start.map(BigInt), count.map(() => 1n)];
    try {
      const status = tried(() =>
        this.#hdf5.get_dataset_data(this.#file, dataset, axes, from, steps, BigInt(at)),
      );
      return status === undefined || status < 0 ? undefined : use(at);
    } finally {
      this.#hdf5._free(at);
    }
  }

  /** Gives back what values of variable length took, after a read of the whole dataset. */
  reclaim(dataset: string, at: number): void {
    this.#hdf5.reclaim_vlen_memory(this.#file, dataset, '', BigInt(at));
  }

  /** A copy of the library's memory. */
  bytesAt(at: number, length: number): Uint8Array {
    return this.#hdf5.HEAPU8.slice(at, at + length);
  }

  textAt(at: number): string {
    return at === 0 ? '' : this.#hdf5.UTF8ToString(at);
  }

  [Symbol.dispose](): void {
    tried(() => this.#hdf5.close_file(this.#file));
    this.#hdf5.FS.unlink(this.#path);
  }
}

/** At damage, an error of the library is as good as a result. */
function tried<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch {
    return undefined;
  }
}
