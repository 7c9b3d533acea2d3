import { systemClock, type Clock, type Namespace } from '@tiered/core';

/** Fewer files than these are no epoch: a program may well open a few again and again. */
const LEAST_FILES = 8;
/** The most epochs. Later opens belong to the last one. */
const MOST_EPOCHS = 1000;
/** A run has epochs if each, but for the last, opened this share of all files. */
const NEARLY_ALL = 0.8;

/** Opens between two moments. */
export interface OpenedFiles {
  /** How often programs opened files below the root for reading, and how often they got a copy. */
  readonly opens: number;
  readonly redirected: number;
  /** Sizes of the files that were opened in the source, and as copies. Programs may have read less. */
  readonly sourceBytes: number;
  readonly copyBytes: number;
}

/** Opens from the first one of an epoch to the last. */
export interface EpochOfFiles extends OpenedFiles {
  /** Milliseconds to the next epoch, or to the last open. */
  readonly ms: number;
}

interface Epoch {
  opens: number;
  redirected: number;
  sourceBytes: number;
  copyBytes: number;
  /** Different files, or at least so many. */
  files: number;
  /** Files that were opened for the first time of all, and had no copy. */
  cold: number;
  /** The number of its first open, and when it was. */
  readonly begin: number;
  readonly begunMs: number;
}

/**
 * Counts what programs open, by epochs. An epoch ends where a file is opened again after at least half as
 * many opens as the epoch has files: until then it is taken for one more open of the same sample. Costs 4
 * bytes for each object.
 */
export class OpenCounts {
  readonly #namespace: Pick<Namespace, 'sizeOf' | 'count'>;
  readonly #clock: Clock;
  readonly #epochs: Epoch[] = [];
  readonly #sizes = new FilesBySize();
  #opens = 0;
  #lastMs = 0;
  /** By object: the number of its last open, from 1 on. */
  #lastOpen = new Uint32Array(1024);

  constructor(namespace: Pick<Namespace, 'sizeOf' | 'count'>, clock: Clock = systemClock) {
    this.#namespace = namespace;
    this.#clock = clock;
  }

  /**
   * A program opened the file of an object.
   * @param from `kept`: the source, although there is a copy that it may not read.
   */
  opened(id: number, from: 'copy' | 'kept' | 'source'): void {
    this.#opens += 1;
    this.#lastMs = this.#clock.now();
    const size = this.#namespace.sizeOf(id);
    const last = this.#lastOpenOf(id);
    const epoch = this.#epochOf(last);
    epoch.opens += 1;
    if (last < epoch.begin) epoch.files += 1;
    if (from === 'copy') {
      epoch.redirected += 1;
      epoch.copyBytes += size;
    } else {
      epoch.sourceBytes += size;
      if (last === 0 && from === 'source') epoch.cold += 1;
    }
    if (last === 0) this.#sizes.add(size);
    this.#lastOpen[id] = this.#opens;
  }

  /** The sum of all epochs. */
  get total(): OpenedFiles {
    const total = { opens: 0, redirected: 0, sourceBytes: 0, copyBytes: 0 };
    for (const epoch of this.#epochs)
      for (const name of Object.keys(total) as (keyof OpenedFiles)[]) total[name] += epoch[name];
    return total;
  }

  /** The epochs, if they can be told apart: each but the last opens nearly all files. Else none. */
  get epochs(): readonly EpochOfFiles[] {
    const least = NEARLY_ALL * this.#sizes.files;
    if (this.#epochs.length < 2 || this.#epochs.slice(0, -1).some(({ files }) => files < least)) return [];
    return this.#epochs.map(({ opens, redirected, sourceBytes, copyBytes, begunMs }, i) => {
      const endMs = this.#epochs[i + 1]?.begunMs ?? this.#lastMs;
      return { opens, redirected, sourceBytes, copyBytes, ms: endMs - begunMs };
    });
  }

  /**
   * How many of the opens can find a copy at most, if files are placed once they were opened: in each epoch,
   * what the tiers had no room for at its beginning has to be read from the source, whatever is evicted.
   * @param roomBytes What the tiers hold.
   */
  most(roomBytes: number): number {
    const fit = this.#sizes.mostWithin(roomBytes);
    return this.#epochs.reduce((sum, { opens, files, cold }) => sum + opens - Math.max(cold, files - fit), 0);
  }

  /** The epoch of an open, by the number of the last open of the same file. */
  #epochOf(last: number): Epoch {
    const epoch = this.#epochs.at(-1);
    if (epoch === undefined) return this.#begin();
    const isAgain = last >= epoch.begin && this.#opens - last > epoch.files / 2;
    if (!isAgain || epoch.files < LEAST_FILES || this.#epochs.length === MOST_EPOCHS) return epoch;
    this.#mergeSmall();
    return this.#begin();
  }

  #begin(): Epoch {
    const counts = { opens: 0, redirected: 0, sourceBytes: 0, copyBytes: 0, files: 0, cold: 0 };
    const epoch = { ...counts, begin: this.#opens, begunMs: this.#lastMs };
    this.#epochs.push(epoch);
    return epoch;
  }

  /** An epoch with only a few of the files was the beginning of the next one. */
  #mergeSmall(): void {
    const [before, last] = this.#epochs.slice(-2);
    if (before === undefined || last === undefined || before.files >= last.files / 2) return;
    this.#epochs.splice(-2, 2, {
      opens: before.opens + last.opens,
      redirected: before.redirected + last.redirected,
      sourceBytes: before.sourceBytes + last.sourceBytes,
      copyBytes: before.copyBytes + last.copyBytes,
      files: last.files,
      cold: before.cold + last.cold,
      begin: before.begin,
      begunMs: before.begunMs,
    });
    this.#mergeSmall();
  }

  #lastOpenOf(id: number): number {
    if (id >= this.#lastOpen.length) {
      const larger = new Uint32Array(Math.max(2 * this.#lastOpen.length, this.#namespace.count));
      larger.set(this.#lastOpen);
      this.#lastOpen = larger;
    }
    return this.#lastOpen[id] ?? 0;
  }
}

/** Groups of files for each doubling of the size: those of one differ by a fifth at most. */
const GROUPS = 4;

interface Group {
  files: number;
  bytes: number;
  least: number;
}

/** Counts files by their sizes, to know how many have room. Takes the same memory for any number of them. */
export class FilesBySize {
  readonly #groups = new Map<number, Group>();
  #files = 0;

  /** How many there are. */
  get files(): number {
    return this.#files;
  }

  add(bytes: number): void {
    this.#files += 1;
    const name = Math.floor(GROUPS * Math.log2(bytes + 1));
    const group = this.#groups.get(name) ?? { files: 0, bytes: 0, least: bytes };
    this.#groups.set(name, group);
    group.files += 1;
    group.bytes += bytes;
    group.least = Math.min(group.least, bytes);
  }

  /** No more of the files than these have room, in so many bytes. */
  mostWithin(roomBytes: number): number {
    let room = roomBytes;
    let most = 0;
    const smallestFirst = [...this.#groups].sort(([a], [b]) => a - b).map(([, group]) => group);
    for (const { files, bytes, least } of smallestFirst) {
      if (bytes > room) return most + Math.min(files, Math.floor(room / Math.max(1, least)));
      room -= bytes;
      most += files;
    }
    return most;
  }
}
