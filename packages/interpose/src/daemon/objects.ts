import { parseBytes, type ByteSize, type Clock, type Hierarchy } from '@tiered/core';
import fs from 'node:fs';
import type { Place } from '../table/layout.js';
import type { SourceFile } from '../table/writer.js';
import { ImaginaryFiles } from './imaginary-files.js';
import { Readable } from './readable.js';
import type { Requests } from './requests.js';
import type { SessionDirectory } from './session-directory.js';
import { Spool } from './spool.js';
import { Tree } from './tree.js';
import { Waits, type ProgramWait } from './waits.js';

/** In shared memory. Enough for the files that some tens of workers open at the same time. */
const SPOOL = '256MiB';

/** The parts that serve the objects of a source that is no file system. */
export interface ServedObjectsParts {
  readonly hierarchy: Hierarchy;
  readonly requests: Requests;
  readonly directory: SessionDirectory;
  readonly clock: Clock;
  /** The directories of the tiers. */
  readonly tiers: readonly string[];
  readonly placeOf: (id: number) => Place | undefined;
  readonly describe: (id: number, file: SourceFile) => void;
  readonly spool: ByteSize | undefined;
  readonly onWait: ((wait: ProgramWait) => void) | undefined;
}

/**
 * The objects of a source that is no file system, as files for programs: what is said of them, the
 * directories that they are in, and their bytes when a program waits for them.
 */
export class ServedObjects {
  readonly tree: Tree;
  readonly files: ImaginaryFiles;
  readonly readable: Readable;

  static async over(parts: ServedObjectsParts): Promise<ServedObjects> {
    const { hierarchy, directory, clock, describe } = parts;
    for (const made of [directory.tree, directory.spool]) fs.mkdirSync(made, { mode: 0o700 });
    const files = await ImaginaryFiles.over(directory.tree, hierarchy.namespace, describe, clock);
    return new ServedObjects(parts, files);
  }

  private constructor(
    { hierarchy, requests, directory, clock, tiers, placeOf, onWait, spool = SPOOL }: ServedObjectsParts,
    files: ImaginaryFiles,
  ) {
    this.tree = new Tree(directory.tree, hierarchy.namespace, clock);
    this.files = files;
    const room = parseBytes(spool, 'spool');
    this.readable = new Readable({
      hierarchy,
      requests,
      tiers,
      placeOf,
      describe: (id) => this.files.has(id),
      waits: new Waits(clock, (wait) => onWait?.(wait)),
      spool: new Spool(hierarchy, directory.spool, room),
    });
  }

  /** Fetches for programs are given up. */
  close(): Promise<void> {
    return this.readable.close();
  }
}
