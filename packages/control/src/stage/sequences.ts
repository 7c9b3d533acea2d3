import { configError } from '@tiered/core/internal';
import { describedSampler, type DescribedSequence } from '@tiered/prefetch/sampling';
import {
  datasetName,
  MOST_SEQUENCES,
  type SequenceReport,
  type Stage,
  type StageRecord,
} from '../records/stage-record.js';

/** A sequence that a stage reports. */
export interface StageSequence {
  readonly job: string;
  /** Identifies the stage. */
  readonly id: string;
  readonly sequence: DescribedSequence;
}

/** The identity of a stage. */
type Named = Pick<StageRecord, 'job' | 'node'> & Pick<Stage, 'id'>;

/** The sequences of a stage, and those that others on its node report. */
export class Sequences {
  readonly #self: Named;
  readonly #followed = new Set<() => SequenceReport>();
  #others: readonly Stage[] = [];
  /** All sequences, as they were at the last look. */
  #text = '[]';

  constructor(self: Named) {
    this.#self = self;
  }

  /**
   * Makes the stage report a sequence. Returns a function that stops it.
   * @throws TieredError `TIERED_CONFIG_INVALID` for a value that cannot be in a record.
   */
  add(dataset: string, describe: () => DescribedSequence): () => void {
    if (!datasetName.safeParse(dataset).success)
      throw configError('dataset', '1 to 64 letters, digits, "-" and "_"', dataset);
    describedSampler(describe());
    const say = () => ({ ...describe(), dataset });
    this.#followed.add(say);
    return () => void this.#followed.delete(say);
  }

  /**
   * The stage's present report: the first sequences. Undefined if there are none, as for a stage that does
   * not know sequences.
   */
  report(): SequenceReport[] | undefined {
    if (this.#followed.size === 0) return undefined;
    return [...this.#followed].slice(0, MOST_SEQUENCES).map((say) => say());
  }

  /** Reports nothing any more. */
  clear(): void {
    this.#followed.clear();
  }

  /**
   * Reads the records of all stages. Returns whether any sequence on this node has changed since the last
   * look.
   */
  look(stages: readonly Stage[]): boolean {
    const { id, node } = this.#self;
    this.#others = stages.filter((stage) => stage.id !== id && stage.node === node);
    const before = this.#text;
    this.#text = JSON.stringify(this.#all().sort((a, b) => (a.id < b.id ? -1 : 1)));
    return this.#text !== before;
  }

  /** The sequences of a dataset on this node: those of this stage now, and the last reports of the others. */
  of(dataset: string): StageSequence[] {
    const found: StageSequence[] = [];
    for (const { job, id, sequences = [] } of this.#all())
      for (const { dataset: named, ...sequence } of sequences)
        if (named === dataset) found.push({ job, id, sequence });
    return found;
  }

  #all(): Pick<Stage, 'job' | 'id' | 'sequences'>[] {
    const { job, id } = this.#self;
    const others = this.#others.map((stage) => ({
      job: stage.job,
      id: stage.id,
      sequences: stage.sequences,
    }));
    return [...others, { job, id, sequences: this.report() }];
  }
}
