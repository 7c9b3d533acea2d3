import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import type { Said, Share } from './children/take-share.js';

/** A process that takes its share. */
export class Taker {
  /** The samples that it took, with the right bytes. */
  readonly took: number[] = [];
  readonly exited: Promise<unknown[]>;
  /** Resolves when it holds its samples and waits. */
  readonly holds: Promise<void>;
  /** How its samples come. */
  readonly transport: Promise<string>;
  /** Called with every batch. */
  onTook: () => void = () => undefined;
  readonly #child: ChildProcess;

  /** @param env What is different there. */
  constructor(share: Share, env: NodeJS.ProcessEnv = {}) {
    const script = path.join(import.meta.dirname, 'children/take-share.ts');
    const args = ['--conditions=tiered-source', '--import', 'tsx', script, JSON.stringify(share)];
    this.#child = spawn(process.execPath, args, {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...process.env, ...env },
    });
    this.exited = once(this.#child, 'exit');
    let hasTransport: (transport: string) => void = () => undefined;
    let doesHold = () => {};
    this.transport = new Promise((resolve) => (hasTransport = resolve));
    this.holds = new Promise((resolve) => (doesHold = resolve));
    this.#child.on('message', (said: Said) => {
      if ('holds' in said) doesHold();
      else if ('transport' in said) hasTransport(said.transport);
      else {
        this.took.push(...said.took);
        this.onTook();
      }
    });
    onTestFinished(() => this.kill());
  }

  /** As `kill -9`. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }
}
