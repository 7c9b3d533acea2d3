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
  /** Called with every batch. */
  onTook: () => void = () => undefined;
  readonly #child: ChildProcess;

  constructor(share: Share) {
    const script = path.join(import.meta.dirname, 'children/take-share.ts');
    const args = ['--conditions=tiered-source', '--import', 'tsx', script, JSON.stringify(share)];
    this.#child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    this.exited = once(this.#child, 'exit');
    this.holds = new Promise((resolve) => {
      this.#child.on('message', (said: Said) => {
        if ('holds' in said) {
          resolve();
          return;
        }
        this.took.push(...said.took);
        this.onTook();
      });
    });
    onTestFinished(() => this.kill());
  }

  /** As `kill -9`. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }
}
