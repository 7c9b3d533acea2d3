import { configError } from '@tiered/core/internal';
import { describedSampler, type DescribedSequence } from '@tiered/prefetch/sampling';
import {
  datasetName,
  MOST_SEQUENCES,
  type SequenceReport,
  type Stage,
  type StageRecord,
} from '../records/stage-record.js';

/** What a stage says that it reads. */
export interface StageSequence {
  readonly job: string;
  /** Names the stage. */
  readonly id: string;
  readonly sequence: DescribedSequence;
}

/** What a stage is called. */
type Named = Pick<StageRecord, 'job' | 'node'> & Pick<Stage, 'id'>;

/** What a stage reads, and what others on its node say that they do. */
export class Sequences {
  readonly #self: Named;
  readonly #followed = new Set<() => SequenceReport>();
  #others: readonly Stage[] = [];
  /** All of them, as they were at the last look. */
  #text = '[]';

  constructor(self: Named) {
    this.#self = self;
  }

  /**
   * Has the stage say a sequence. Returns what ends that.
   * @throws TieredError `TIERED_CONFIG_INVALID` for what cannot be in a record.
   */
  add(dataset: string, describe: () => DescribedSequence): () => void {
    if (!datasetName.safeParse(dataset).success)
      throw configError('dataset', '1 to 64 letters, digits, "-" and "_"', dataset);
    describedSampler(describe());
    const say = () => ({ ...describe(), dataset });
    this.#followed.add(say);
    return () => void this.#followed.delete(say);
  }

  /** What the stage says now: the first ones. Undefined for nothing, as of a stage that knows of none. */
  report(): SequenceReport[] | undefined {
    if (this.#followed.size === 0) return undefined;
    return [...this.#followed].slice(0, MOST_SEQUENCES).map((say) => say());
  }

  /** Says nothing any more. */
  clear(): void {
    this.#followed.clear();
  }

  /** Looks at all stages. Returns whether any on this node reads otherwise than at the last look. */
  look(stages: readonly Stage[]): boolean {
    const { id, node } = this.#self;
    this.#others = stages.filter((stage) => stage.id !== id && stage.node === node);
    const before = this.#text;
    this.#text = JSON.stringify(this.#all().sort((a, b) => (a.id < b.id ? -1 : 1)));
    return this.#text !== before;
  }

  /** What stages of the node read of a dataset: this one now, and the others as they said last. */
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
