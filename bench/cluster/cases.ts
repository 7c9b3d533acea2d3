import { bytesOf, type Dataset } from '../gateway/datasets.js';

/** Of the epochs. */
export const SEED = 1;
export const LATENCY_MS = 1;
export const BYTES_PER_SECOND = 150e6;
/** What all nodes together train on: twice what the source gives. */
export const COMPUTE_BYTES_PER_SECOND = 2 * BYTES_PER_SECOND;

/** A training of some nodes. */
export interface Case {
  readonly dataset: Dataset;
  readonly nodes: number;
  /** One of so many parts of the data is what the RAM of a node has room for. */
  readonly parts: number;
  readonly epochs: number;
  /** Reads that each node makes before anything is measured: until then its code is compiled. */
  readonly warmReads: number;
}

const KIB = 2 ** 10;
const MIB = 2 ** 20;

function smallObjects(quick: boolean): Dataset {
  return {
    ...{ name: 'objects of 100 KB', bucket: 'objects' },
    ...{ objects: quick ? 480 : 4800, bytes: 100_000, piece: 100_000, connections: 16 },
  };
}

function shards(quick: boolean): Dataset {
  return {
    ...{ name: 'shards of 16 MiB', bucket: 'shards' },
    ...{ objects: quick ? 4 : 32, bytes: 16 * MIB, piece: 256 * KIB, connections: 4 },
  };
}

/** Trainings on each dataset: with room for all in all RAM together, and for half. */
export function casesOf(quick: boolean): readonly (readonly [Dataset, readonly Case[]])[] {
  const of = (
    dataset: Dataset,
    rooms: readonly (readonly [nodes: number, parts: number, epochs: number])[],
  ) => {
    const warmReads = quick ? 0 : 10_000;
    return [
      dataset,
      rooms.map(([nodes, parts, epochs]) => ({ dataset, nodes, parts, epochs, warmReads })),
    ] as const;
  };
  const [small, large] = [smallObjects(quick), shards(quick)];
  return quick
    ? [of(small, [[3, 3, 2]]), of(large, [[2, 2, 2]])]
    : [
        of(small, [
          [4, 4, 3],
          [4, 8, 3],
          [4, 8, 10],
          [8, 8, 3],
          [8, 16, 3],
        ]),
        of(large, [
          [4, 4, 3],
          [4, 8, 3],
        ]),
      ];
}

/** Bytes of RAM of a node. */
export function quotaOf({ dataset, parts }: Case): number {
  return Math.ceil(bytesOf(dataset) / parts);
}

/** Epochs of all nodes until each has read as much as it has to be warm. */
export function warmEpochsOf({ dataset, nodes, warmReads }: Case): number {
  const reads = (dataset.objects * dataset.bytes) / dataset.piece;
  return Math.max(2, Math.ceil((warmReads * nodes) / reads));
}

/** The part of the data that has no place in all RAM together. */
export function leftOf(one: Case): number {
  return Math.max(0, 1 - (one.nodes * quotaOf(one)) / bytesOf(one.dataset));
}

export function nameOf({ dataset, nodes, parts }: Case): string {
  return `${dataset.name}, ${nodes} nodes, RAM for 1/${parts} each`;
}
