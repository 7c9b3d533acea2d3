import type { ClusterStats } from '@tiered/cluster';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Network } from '../../tools/servers/network.js';

/** A file, or a bucket of NATS. */
export type NodeRegistry =
  { readonly path: string } | { readonly servers: string; readonly name: string; readonly ttlMs: number };

/** What a node of a test is made of. */
export interface NodeOptions {
  /** The directory of the dataset: objects `o0` and so on, as `someBytes` makes them of their number. */
  readonly source: string;
  readonly objects: number;
  readonly bytes: number;
  readonly registry: NodeRegistry;
  /** The directory of its tier. */
  readonly tier: string;
  readonly quota: number;
  readonly ttlMs: number;
  /** Milliseconds that a peer has for an answer. */
  readonly deadlineMs: number;
  readonly rank: number;
  readonly size: number;
  readonly host: string;
}

/** What a node is asked to do. */
export interface NodeRequest {
  readonly ask: 'gather' | 'epoch' | 'close';
  /** Of the epoch. */
  readonly number?: number;
}

/** What a node knows of its cluster. */
export interface NodeSees {
  /** Whether it reaches the registry. */
  readonly hasRegistry: boolean;
  /** The ranks of the others that serve it, in any order. */
  readonly others: readonly number[];
}

/** What a node says. */
export type NodeSaid =
  | { readonly say: 'here' }
  | { readonly say: 'read' }
  | ({ readonly say: 'sees' } & NodeSees)
  | { readonly say: 'done'; readonly stats: ClusterStats; readonly isTogether: boolean };

type Done = Extract<NodeSaid, { say: 'done' }>;

/** A node of a cluster: a process on a machine of a network. */
export class ClusterNode {
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;
  #seen: NodeSees | undefined;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#exit = once(child, 'exit');
    child.on('message', (said: NodeSaid) => {
      if (said.say === 'sees') this.#seen = said;
    });
  }

  /** Starts it. Resolves when it serves others. */
  static async start(network: Network, program: string, options: NodeOptions): Promise<ClusterNode> {
    const child = network.start(options.rank, [program, JSON.stringify(options)]);
    const node = new ClusterNode(child);
    await node.#said(({ say }) => say === 'here');
    return node;
  }

  /** Has it do something. Rejects if it ends before it has. */
  async ask(request: NodeRequest): Promise<Done> {
    const done = this.#said(({ say }) => say === 'done');
    this.#child.send(request);
    return (await done) as Done;
  }

  /** Resolves when it has read so many more objects. */
  async hasRead(count: number): Promise<void> {
    let left = count;
    await this.#said(({ say }) => say === 'read' && --left === 0);
  }

  /** Resolves when it knows that. */
  async sees(isIt: (seen: NodeSees) => boolean): Promise<void> {
    if (this.#seen === undefined || !isIt(this.#seen))
      await this.#said((said) => said.say === 'sees' && isIt(said));
  }

  /** Sends a signal to its process. `ip` has become that process. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Ends it, whatever it does. */
  async kill(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#child.kill('SIGKILL');
      await this.#exit;
    }
  }

  async #said(isIt: (said: NodeSaid) => boolean): Promise<NodeSaid> {
    return new Promise((resolve, reject) => {
      const stop = () => {
        this.#child.off('message', onMessage);
        this.#child.off('exit', onExit);
      };
      const onMessage = (said: NodeSaid) => {
        if (!isIt(said)) return;
        stop();
        resolve(said);
      };
      const onExit = (code: number | null, signal: string | null) => {
        stop();
        reject(new Error(`the node ended with ${code ?? signal}`));
      };
      this.#child.on('message', onMessage);
      this.#child.on('exit', onExit);
    });
  }
}
