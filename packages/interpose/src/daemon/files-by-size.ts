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
