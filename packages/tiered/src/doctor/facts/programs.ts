import { statfs } from 'node:fs/promises';

/** What `tiered run` needs on this machine. */
export interface ProgramFacts {
  /** The shim that programs are to load, why there is none, or `undefined` where its package is missing. */
  readonly shim: { readonly file: string } | { readonly reason: string } | undefined;
  /** Bytes that are free in `/dev/shm`; undefined where there is none. */
  readonly sharedBytes: number | undefined;
}

/** Looks at shared memory. Nothing is made. */
export async function lookAtPrograms(shim: ProgramFacts['shim']): Promise<ProgramFacts> {
  const found = await statfs('/dev/shm').catch(() => undefined);
  return { shim, sharedBytes: found && found.bavail * found.bsize };
}
