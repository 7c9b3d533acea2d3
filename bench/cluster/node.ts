import { fileURLToPath } from 'node:url';
import { LineProcess } from '../../tools/processes/line-process.js';
import type { Dataset } from '../gateway/datasets.js';
import { SOURCES } from '../lib/from-sources.js';

/** How a node gets what its own tier does not have. */
export type Sharing = 'alone' | 'rendezvous' | 'by plan';

/** What a node opens. */
export interface NodeTask {
  readonly dataset: Dataset;
  /** Where it reads: the source, or a proxy in front of it. */
  readonly endpoint: string;
  readonly rank: number;
  readonly nodes: number;
  readonly epochs: number;
  readonly sharing: Sharing;
  /** Bytes of RAM. 0: it keeps nothing. */
  readonly quota: number;
  /** A storage that all nodes share. */
  readonly redis?: string | undefined;
  /** The file of the registry. */
  readonly registry: string;
}

/** An epoch to read. */
export interface EpochTask {
  readonly epoch: number;
  /** What it trains on in a second; null for no training. */
  readonly computeBytesPerSecond: number | null;
}

/** What a node reads to measure a level: what it keeps itself, or what others keep. */
export type Kept = 'by itself' | 'by others';

/** What an epoch came to, on one node. */
export interface NodeEpoch {
  readonly seconds: number;
  readonly stallSeconds: number;
  readonly bytes: number;
  /** Bytes that peers gave. */
  readonly peerBytes: number;
  /** Reads that peers were asked for and the source gave. */
  readonly inVain: number;
  /** Second requests to the source. */
  readonly late: number;
  readonly cpuSeconds: number;
}

export type Line =
  { readonly open: NodeTask } | { readonly read: EpochTask } | { readonly rate: Kept } | 'idle' | 'close';

const PROGRAM = fileURLToPath(new URL('node-process.ts', import.meta.url));

/** A worker of a training, in a process of its own. It can be opened again when it was closed. */
export class Node implements AsyncDisposable {
  readonly #process: LineProcess;

  static async start(): Promise<Node> {
    return new Node(await LineProcess.start({ command: process.execPath, arguments: [...SOURCES, PROGRAM] }));
  }

  private constructor(started: LineProcess) {
    this.#process = started;
  }

  /** Resolves once it serves the others, and they serve it. */
  async open(task: NodeTask): Promise<void> {
    await this.#ask({ open: task });
  }

  async read(task: EpochTask): Promise<NodeEpoch> {
    return (await this.#ask({ read: task })) as NodeEpoch;
  }

  /** MB/s of the samples of all epochs that are kept there, by the plan. */
  async rate(kept: Kept): Promise<number> {
    const { rate } = (await this.#ask({ rate: kept })) as { readonly rate: number };
    return rate;
  }

  /** Resolves once nothing is on its way to its tier. */
  async idle(): Promise<void> {
    await this.#ask('idle');
  }

  /** Closes what was opened. */
  async close(): Promise<void> {
    await this.#ask('close');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#process.close();
  }

  #ask(line: Line): Promise<unknown> {
    return this.#process.askJson(line);
  }
}
