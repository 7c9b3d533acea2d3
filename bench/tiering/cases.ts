import path from 'node:path';
import { makeShards, makeSmallFiles, type Dataset } from './dataset.js';
import type { Case } from './run.js';

/** A dataset by name. */
export interface NamedDataset {
  readonly name: string;
  readonly dataset: Dataset;
}

/** The two kinds. */
export type Datasets = readonly [shards: NamedDataset, smallFiles: NamedDataset];

/** Large files and small ones. */
export async function makeDatasets(scratch: string, quick: boolean): Promise<Datasets> {
  return [
    { name: 'shards', dataset: await makeShards(path.join(scratch, 'shards'), quick) },
    { name: 'small files', dataset: await makeSmallFiles(path.join(scratch, 'small'), quick) },
  ];
}

/** How the datasets are read: large files in pieces, by one reader and by four, and small ones whole. */
export function casesOf([{ dataset: shards }, { dataset: smallFiles }]: Datasets): Case[] {
  return [
    { name: 'shards, 1 reader', dataset: shards, readers: 1, inPieces: true },
    { name: 'shards, 4 readers', dataset: shards, readers: 4, inPieces: true },
    { name: 'small files, 4 readers', dataset: smallFiles, readers: 4, inPieces: false },
  ];
}
