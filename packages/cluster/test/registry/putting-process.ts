import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { RegistryEntry } from '../../src/registry/index.js';
import type { Engine } from './engine.js';

const CHILD = fileURLToPath(new URL('../children/put-on-request.ts', import.meta.url));

/** Another process that uses a registry. */
export class PuttingProcess implements AsyncDisposable {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Resolves when its registry is open. */
  static async start(engine: Engine): Promise<PuttingProcess> {
    const execArgv = ['--conditions=tiered-source', '--import', 'tsx'];
    const child = fork(CHILD, [JSON.stringify(engine)], { execArgv });
    await once(child, 'message');
    return new PuttingProcess(child);
  }

  /** @throws Error with the message of the error that its registry rejected with. */
  async put(entry: RegistryEntry, ttlMs: number): Promise<boolean> {
    const answer = once(this.#child, 'message');
    this.#child.send({ ...entry, ttlMs });
    const [{ isMine, error }] = (await answer) as [{ isMine?: boolean; error?: string }];
    if (isMine === undefined) throw new Error(error);
    return isMine;
  }

  /** Ends it by a signal, in the middle of whatever it does. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exit;
  }

  /** Stops it, or lets it go on. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(signal);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}
