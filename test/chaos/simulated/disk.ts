import { MemoryDriver, type OperationOptions, type Random } from '@tiered/core';
import {
  checkedPieces,
  notFound,
  type CreateOptions,
  type IndexHome,
  type ObjectWriter,
  type ReadOptions,
  type WriteData,
  type WriteOptions,
} from '@tiered/core/driver';
import { MemoryLocks } from '@tiered/core/testing';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** In memory where there is such a file system: an index waits for its disk more than it computes. */
const ROOM = fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir();
const INDEX_FILES = ['index.db', 'index.db-wal'] as const;

/** What a power cut leaves of all that was not synced. */
interface Synced {
  readonly objects: ReadonlyMap<string, Uint8Array>;
  readonly index: ReadonlyMap<string, Uint8Array>;
}

/** A copy of bytes is given, as a disk does, and no view. */
export class CopyingDriver extends MemoryDriver {
  override readonly capabilities = Object.freeze({ ...new MemoryDriver().capabilities, sharedViews: false });

  override async read(key: string, options: ReadOptions): Promise<Uint8Array> {
    return Uint8Array.from(await super.read(key, options));
  }
}

/**
 * A disk that processes share as a tier: what it holds outlives them, and power cuts and damage are done to
 * it.
 */
export class SimulatedDisk extends CopyingDriver {
  override readonly capabilities = Object.freeze({ ...new CopyingDriver().capabilities, index: true });
  readonly directory: string;
  /** Called whenever something more is on the disk. */
  onGrowth: () => void = () => undefined;
  readonly #running = new Set<string>();
  readonly #locks = new MemoryLocks();
  /** Bytes of what is being written, by member. */
  readonly #temporary = new Map<string, Set<{ readonly size: number }>>();
  #opened = 0;
  #boots = 0;
  #synced: Synced = { objects: new Map(), index: new Map() };

  constructor(name: string) {
    super({ name });
    this.directory = fs.mkdtempSync(path.join(ROOM, 'tiered-chaos-'));
  }

  /** Bytes of all that is on it, half-written files too. */
  async occupied(): Promise<number> {
    const { bytes } = await this.usage({});
    let temporary = 0;
    for (const files of this.#temporary.values()) for (const { size } of files) temporary += size;
    return bytes + temporary;
  }

  /** Files that are half written, whoever began them. */
  get temporaryFiles(): number {
    return [...this.#temporary.values()].reduce((sum, files) => sum + files.size, 0);
  }

  isRunning(member: string): boolean {
    return this.#running.has(member);
  }

  /** As the kernel does when a process is gone. */
  leave(member: string): void {
    this.#running.delete(member);
    this.#locks.end(member);
  }

  async names(): Promise<string[]> {
    const names: string[] = [];
    for await (const page of this.list({})) names.push(...page.map(({ key }) => key));
    return names;
  }

  /** The way of one process to the disk. */
  homeOf(member: string, through: string): IndexHome {
    // What those left half written who are gone, whether an index knows of them or not.
    for (const id of this.#temporary.keys()) if (!this.#running.has(id)) this.#temporary.delete(id);
    this.#running.add(member);
    const file = path.join(through, 'index.db');
    if (!fs.existsSync(file)) fs.writeFileSync(file, '');
    return {
      member,
      path: file,
      durable: false,
      boot: `boot ${this.#boots}`,
      isOnTier: false,
      blockBytes: 1,
      locks: this.#locks.of(member),
      isRunning: async (id) => this.#running.has(id),
      others: async () => [...this.#running].filter((id) => id !== member),
      clearUp: async (id) => void this.#temporary.delete(id),
      forget: async () => undefined,
      removeEmptyDirectories: async () => undefined,
      close: async () => this.leave(member),
    };
  }

  /** A directory that leads to the same index, for one process. */
  wayIn(): string {
    this.#opened += 1;
    const way = path.join(this.directory, `way-${this.#opened}`);
    fs.symlinkSync('.', way);
    return way;
  }

  async createFor(member: string, key: string, options: CreateOptions): Promise<ObjectWriter> {
    const writer = await this.create(key, options);
    const file = { size: options.size };
    const files = this.#temporary.get(member) ?? new Set();
    this.#temporary.set(member, files.add(file));
    this.onGrowth();
    const discard = async () => {
      files.delete(file);
      await writer.discard();
    };
    const publish = async (at: OperationOptions) => {
      // Its directory was removed, or others cleared up after a process that they took for dead.
      if (!files.has(file) || this.#temporary.get(member) !== files) throw notFound(this, 'publish', key);
      await writer.publish(at);
      files.delete(file);
      this.onGrowth();
    };
    return {
      writeAt: (...at) => writer.writeAt(...at),
      readInto: (...at) => writer.readInto(...at),
      publish,
      discard,
    };
  }

  /** As `write`, with an instant at which it is half written: a process may be killed then. */
  async writeFor(
    member: string,
    key: string,
    data: WriteData,
    options: WriteOptions,
    slowly: (write: () => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const writer = await this.createFor(member, key, options);
    try {
      let offset = 0;
      for await (const piece of checkedPieces(this, key, data, options)) {
        const at = { offset, signal: options.signal };
        await slowly(() => writer.writeAt(piece, at));
        offset += piece.byteLength;
      }
      await writer.publish({ signal: options.signal });
    } catch (error) {
      await writer.discard();
      throw error;
    }
  }

  /** All that there is so far is on the disk itself, and no power cut takes it. */
  async sync(): Promise<void> {
    const objects = new Map<string, Uint8Array>();
    for (const name of await this.names()) objects.set(name, await this.#view(name));
    const index = new Map<string, Uint8Array>();
    for (const file of INDEX_FILES) {
      const full = path.join(this.directory, file);
      if (fs.existsSync(full)) index.set(file, fs.readFileSync(full));
    }
    this.#synced = { objects, index };
  }

  /**
   * Nobody runs any more. What was not synced is lost, comes back, or came without its content, in any order.
   */
  async cutPower(random: Random): Promise<void> {
    this.#running.clear();
    this.#boots += 1;
    const { objects, index } = this.#synced;
    for (const name of await this.names()) {
      if (objects.has(name)) continue;
      const bytes = await this.#view(name);
      const what = random.below(4);
      if (what === 0) await this.delete(name, {});
      if (what === 1) await this.#put(name, bytes.subarray(0, random.below(bytes.byteLength + 1)));
      if (what === 2) await this.#put(name, new Uint8Array(bytes.byteLength));
    }
    const names = new Set(await this.names());
    for (const [name, bytes] of objects)
      if (!names.has(name) && random.below(2) === 0) await this.#put(name, bytes);
    if (random.below(3) > 0) {
      this.removeIndex();
      for (const [file, bytes] of index) fs.writeFileSync(path.join(this.directory, file), bytes);
    }
    await this.sync();
  }

  /** Somebody deletes everything, while it is used or not. */
  async wipe(): Promise<void> {
    for (const name of await this.names()) await this.delete(name, {});
    this.removeIndex();
    this.#running.clear();
    this.#temporary.clear();
  }

  removeIndex(): void {
    for (const file of [...INDEX_FILES, 'index.db-shm'])
      fs.rmSync(path.join(this.directory, file), { force: true });
  }

  /** Does something to one copy: flips a bit, cuts it short, or deletes it. */
  async spoil(how: 'flip' | 'cut' | 'delete', random: Random): Promise<boolean> {
    const names = (await this.names()).sort();
    const name = names[random.below(Math.max(1, names.length))];
    if (name === undefined) return false;
    const bytes = await this.#view(name);
    if (how === 'delete') await this.delete(name, {});
    if (bytes.byteLength === 0) return how === 'delete';
    const at = random.below(bytes.byteLength);
    if (how === 'cut') await this.#put(name, bytes.subarray(0, at));
    if (how === 'flip') {
      const flipped = Uint8Array.from(bytes);
      flipped[at] = (flipped[at] ?? 0) ^ (1 << random.below(8));
      await this.#put(name, flipped);
    }
    return true;
  }

  dispose(): void {
    fs.rmSync(this.directory, { recursive: true, force: true });
  }

  #put(name: string, bytes: Uint8Array): Promise<void> {
    return this.write(name, bytes, { size: bytes.byteLength });
  }

  #view(name: string): Promise<Uint8Array> {
    return super.read(name, { offset: 0, length: Infinity });
  }
}
