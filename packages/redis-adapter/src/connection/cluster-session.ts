import { createCluster } from 'redis';
import type { Address, ServerOptions } from '../options.js';
import { clientOptions, COMMANDS, type Argument, type Reply, type Send, type Session } from './session.js';

/**
 * Milliseconds after which an idle connection to a server of a cluster is closed. The package may look up
 * slots on its own connection while we wait for another one. If its server hangs, this timeout ends that
 * connection.
 */
const IDLE_MS = 60_000;

/** Connections to the servers of a cluster that have our keys, made when first needed. */
export class ClusterSession implements Session {
  readonly ready: Promise<void>;
  readonly #gone = new AbortController();
  readonly #cluster: ReturnType<typeof clusterOf>;
  #isEnded = false;
  /** The reason why the servers' slots could not be looked up. */
  #lastError: unknown;

  constructor(nodes: readonly Address[], options: ServerOptions) {
    this.#cluster = clusterOf(nodes, options);
    this.#cluster.on('error', (error: unknown) => {
      this.#lastError = error;
    });
    this.ready = this.#connect();
    this.ready.catch(() => this.destroy());
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  get isOpen(): boolean {
    return !this.#isEnded;
  }

  get connections(): number {
    return this.#cluster.masters.filter(({ client }) => client?.isOpen === true).length;
  }

  send(key: string, args: readonly Argument[]): Promise<Reply> {
    this.#forgetClosed();
    return this.#cluster.sendCommand<Reply>(key, false, [...args]);
  }

  masters(): readonly Send[] {
    this.#forgetClosed();
    return this.#cluster.masters.map((node) => async (args) => {
      const client = await this.#cluster.nodeClient(node);
      return client.sendCommand<Reply>([...args], COMMANDS);
    });
  }

  async close(): Promise<void> {
    this.#isEnded = true;
    await this.#cluster.close();
    this.destroy();
  }

  destroy(): void {
    this.#isEnded = true;
    this.#cluster.destroy();
    this.#gone.abort();
  }

  async #connect(): Promise<void> {
    try {
      await this.#cluster.connect();
    } catch (error) {
      throw this.#lastError ?? error;
    }
    if (this.#isEnded) this.destroy();
  }

  /** Forgets lost connections, which the package would go on using. */
  #forgetClosed(): void {
    for (const node of this.#cluster.masters) if (node.client?.isOpen === false) delete node.client;
  }
}

function clusterOf(nodes: readonly Address[], options: ServerOptions) {
  const { socket, ...common } = clientOptions(options, options);
  return createCluster({
    rootNodes: nodes.map((address) => ({
      socket: { ...socket, ...address, socketTimeout: options.timeoutMs },
    })),
    defaults: { ...common, socket: { ...socket, socketTimeout: Math.max(IDLE_MS, 2 * options.timeoutMs) } },
    minimizeConnections: true,
    commandOptions: COMMANDS,
  });
}
