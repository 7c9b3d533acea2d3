import type { DescribedSequence } from '@tiered/prefetch/sampling';
import type { Parts } from './order/parts.js';
import { describedJob, sharedLevels, sharedName } from './reading/described-job.js';
import type { Job } from './reading/planner.js';

/** The readers on this machine, such as a `Control` of `@tiered/control`. */
export interface Readers {
  /**
   * Reports this rank's reads to the others, for the samples and tiers of a name. Returns a function that
   * stops it.
   */
  followSequence(dataset: string, describe: () => DescribedSequence): () => void;
  /** The sequences that all readers, including this rank, read from these samples through these tiers. */
  sequencesOf(dataset: string): readonly { readonly id: string; readonly sequence: DescribedSequence }[];
  /** Adds a listener that is called when the sequences may have changed. */
  on(event: 'sequencesChanged', listener: () => void): unknown;
  /** Removes a listener. */
  off(event: 'sequencesChanged', listener: () => void): unknown;
}

/** A rank, as it describes itself. */
interface Member {
  readonly parts: Parts;
  readonly job: Job;
  /** Returns its current epoch. */
  readonly epoch: () => number;
  /** Called when others have joined or left since the last call of `sequences`. */
  readonly onOthers: () => void;
}

/** This rank, and the others that read the same samples through the same tiers. */
export interface Company {
  /** The remaining sequences of all of them. Undefined if there are no others. */
  sequences(): readonly DescribedSequence[] | undefined;
  /** Whether the readers are the same as at the last call of `sequences`. */
  readonly isPlanned: boolean;
  /** Stops reporting and listening. */
  leave(): void;
}

/** Undefined for reads that cannot be described, and for tiers that cannot be shared. */
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

/** Whether a sequence reads some of the first `of` samples, and none beyond them. */
function reads({ first, samples, epoch, epochs }: DescribedSequence, of: number): boolean {
  return epoch < epochs && first + samples <= of;
}

/** Identifies the readers and their reads, whatever their position. */
function namesOf(present: readonly { readonly id: string; readonly sequence: DescribedSequence }[]): string {
  const names = present.map(({ id, sequence }) => JSON.stringify([id, { ...sequence, epoch: undefined }]));
  return names.sort().join('\n');
}
