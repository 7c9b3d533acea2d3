import type { DescribedSequence } from '@tiered/prefetch/sampling';
import type { Parts } from './order/parts.js';
import { describedJob, sharedLevels, sharedName } from './reading/described-job.js';
import type { Job } from './reading/planner.js';

/** Those who read on this machine, as a `Control` of `@tiered/control` knows them. */
export interface Readers {
  /** Tells the others what this rank reads, of samples and tiers that go by a name. Returns what ends it. */
  followSequence(dataset: string, describe: () => DescribedSequence): () => void;
  /** What all of them read of these samples through these tiers, this rank among them. */
  sequencesOf(dataset: string): readonly { readonly id: string; readonly sequence: DescribedSequence }[];
  /** Calls a listener when that may have changed. */
  on(event: 'sequencesChanged', listener: () => void): unknown;
  /** Calls it no more. */
  off(event: 'sequencesChanged', listener: () => void): unknown;
}

/** What a rank says of itself. */
interface Member {
  readonly parts: Parts;
  readonly job: Job;
  /** The epoch that it is in. */
  readonly epoch: () => number;
  /** Called when others have come or gone since `sequences` was asked last. */
  readonly onOthers: () => void;
}

/** This rank, and the others that read the same samples through the same tiers. */
export interface Company {
  /** What all of them still read. Undefined if there is nobody else. */
  sequences(): readonly DescribedSequence[] | undefined;
  /** Whether they are those of whom `sequences` told last. */
  readonly isPlanned: boolean;
  /** Tells and hears no more. */
  leave(): void;
}

/** Undefined for what cannot be described, and for tiers that nobody can share. */
export function companyOf(readers: Readers, member: Member): Company | undefined {
  const { parts, job, epoch, onOthers } = member;
  const described = describedJob(parts, job);
  const [part] = parts.list;
  if (described === undefined || part === undefined) return undefined;
  if (sharedLevels(part.samples.hierarchy).length === 0) return undefined;
  const dataset = sharedName(part.samples);
  const { samples } = part.samples;
  const present = () => readers.sequencesOf(dataset).filter(({ sequence }) => reads(sequence, samples));
  let known: string | undefined;
  const isPlanned = () => known === namesOf(present());
  const changed = () => {
    if (!isPlanned()) onOthers();
  };
  const stop = readers.followSequence(dataset, () => ({ ...described, epoch: epoch() }));
  readers.on('sequencesChanged', changed);
  return {
    sequences: () => {
      const now = present();
      known = namesOf(now);
      return now.length > 1 ? now.map(({ sequence }) => sequence) : undefined;
    },
    get isPlanned() {
      return isPlanned();
    },
    leave: () => {
      stop();
      readers.off('sequencesChanged', changed);
    },
  };
}

/** Whether a sequence reads any of so many samples, and none beyond them. */
function reads({ first, samples, epoch, epochs }: DescribedSequence, of: number): boolean {
  return epoch < epochs && first + samples <= of;
}

/** Who they are and what they read, wherever they stand. */
function namesOf(present: readonly { readonly id: string; readonly sequence: DescribedSequence }[]): string {
  const names = present.map(({ id, sequence }) => JSON.stringify([id, { ...sequence, epoch: undefined }]));
  return names.sort().join('\n');
}
