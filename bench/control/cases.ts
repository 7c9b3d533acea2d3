import type { JobControl } from './job.js';

/** What jobs share: a directory behind FUSE. */
export const SOURCE_NAME = 'file-server';
export const SOURCE = { readMs: 1, bytesPerSecond: 150e6 };
export const OBJECTS = 1000;
export const OBJECT_BYTES = 100_000;
export const keyOf = (object: number): string => `${object}`;

/** A job of a case. */
export interface JobOf {
  readonly producers: number;
  /** Default: 1. */
  readonly weight?: number;
  /** Default: it does not train, and takes all that it gets. */
  readonly computeBytesPerSecond?: number;
}

/** Jobs that read at the same time. */
export interface Case {
  readonly name: string;
  readonly jobs: readonly JobOf[];
  /** One more, which comes when the others have read for a while, and leaves before they end. */
  readonly guest?: JobOf;
}

const producers = (...all: number[]): JobOf[] => all.map((producers) => ({ producers }));

export const ALONE: Case = { name: 'one job', jobs: producers(64) };

/** Jobs that read until they are stopped. */
export const CASES: readonly Case[] = [
  { name: '2 jobs, 1 and 64 producers', jobs: producers(1, 64) },
  { name: '4 jobs, 2, 8, 32 and 64 producers', jobs: producers(2, 8, 32, 64) },
  { name: '8 jobs, 1 to 64 producers', jobs: producers(1, 2, 4, 8, 16, 32, 64, 64) },
  {
    name: '3 jobs of weight 1, 2 and 4',
    jobs: [1, 2, 4].map((weight) => ({ producers: 64 / weight, weight })),
  },
  {
    name: '3 jobs, one trains on 25 MB/s',
    jobs: [{ producers: 8, computeBytesPerSecond: 25e6 }, ...producers(4, 64)],
  },
];

/** Jobs each of which is on a node of its own. */
export const CASES_OF_NODES: readonly Case[] = [
  { name: '4 nodes, 2, 8, 32 and 64 producers', jobs: producers(2, 8, 32, 64) },
  {
    name: '4 nodes of weight 1, 2, 4 and 1',
    jobs: [1, 2, 4, 1].map((weight) => ({ producers: 64 / weight, weight })),
  },
];

/** Jobs one of which comes and leaves. */
export const GUEST: Case = {
  name: '2 jobs, the second with 64 producers',
  jobs: producers(8),
  guest: { producers: 64 },
};

/** Jobs that end. */
export const ENDING: Case = {
  name: '4 jobs, 2, 8, 32 and 64 producers, RAM for half of the data',
  jobs: producers(2, 8, 32, 64),
};

/** How the jobs of a run share. */
export type Sharing = Pick<JobControl, 'budget'> | undefined;
export const WITHOUT: Sharing = undefined;
export const CONTROL: Sharing = { budget: SOURCE.bytesPerSecond };
