import path from 'node:path';
import { makeShards, makeSmallFiles } from './dataset.js';
import type { Case } from './run.js';

/** The datasets and how they are read: large files in pieces, by one reader and by four, and small ones whole. */
export async function makeCases(scratch: string, quick: boolean): Promise<Case[]> {
  const shards = await makeShards(path.join(scratch, 'shards'), quick);
  const smallFiles = await makeSmallFiles(path.join(scratch, 'small'), quick);
  return [
    { name: 'shards, 1 reader', dataset: shards, readers: 1, inPieces: true },
    { name: 'shards, 4 readers', dataset: shards, readers: 4, inPieces: true },
    { name: 'small files, 4 readers', dataset: smallFiles, readers: 4, inPieces: false },
  ];
}
