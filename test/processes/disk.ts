import fs from 'node:fs';
import path from 'node:path';

const SECTOR = 512;

/**
 * Bytes that a directory takes, by whole blocks, with everything in it, as `du` counts; and what processes
 * hold open of it that is deleted.
 */
export function bytesOnDisk(root: string, pids: readonly number[] = []): number {
  const blocks = new Map<bigint, number>();
  const count = (stat: fs.BigIntStats | undefined) => stat && blocks.set(stat.ino, Number(stat.blocks));
  const look = (file: string) => count(fs.lstatSync(file, { bigint: true, throwIfNoEntry: false }));
  look(root);
  for (const file of everythingIn(root)) look(file);
  for (const pid of pids) {
    for (const fd of deletedFiles(pid, root)) count(fs.statSync(fd, { bigint: true, throwIfNoEntry: false }));
  }
  return [...blocks.values()].reduce((sum, one) => sum + one, 0) * SECTOR;
}

/**
 * Files and directories below a directory, while others write and remove there: Node's recursive listing
 * fails at a directory that goes.
 */
export function* everythingIn(directory: string): Generator<string> {
  for (const entry of entriesOf(directory)) {
    const file = path.join(directory, entry.name);
    yield file;
    if (entry.isDirectory()) yield* everythingIn(file);
  }
}

function entriesOf(directory: string): fs.Dirent[] {
  try {
    return fs.readdirSync(directory, { withFileTypes: true });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

/** The descriptors, as paths, that a process has of files below a directory that are deleted. */
export function deletedFiles(pid: number, root: string): string[] {
  const directory = `/proc/${pid}/fd`;
  if (!fs.existsSync(directory)) return [];
  return fs
    .readdirSync(directory)
    .map((fd) => path.join(directory, fd))
    .filter((fd) => {
      const target = linkOf(fd);
      return target.startsWith(root) && target.endsWith(' (deleted)');
    });
}

function linkOf(fd: string): string {
  try {
    return fs.readlinkSync(fd);
  } catch {
    // Closed meanwhile.
    return '';
  }
}
