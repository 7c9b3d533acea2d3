import { SingleBar } from 'cli-progress';
import type { TrainedEpoch } from './train.js';

const BAR = {
  barCompleteChar: '█',
  barIncompleteChar: '░',
  barsize: 30,
  hideCursor: true,
  linewrap: false,
} as const;

/** Shows on stderr how far a run is: a bar on a terminal, and a line for each epoch. */
export class Progress {
  #bar: SingleBar | undefined;
  #name = '';
  #of = '';

  /** Something that is good to know. */
  say(text: string): void {
    process.stderr.write(`${text}\n`);
  }

  /** Shards are going to be uploaded. */
  beginUpload(text: string, shards: number): void {
    this.say(text);
    if (!process.stderr.isTTY) return;
    this.#bar = new SingleBar({ ...BAR, format: 'uploading              {bar} {value}/{total} shards' });
    this.#bar.start(shards, 0);
  }

  /** An epoch of a setup begins, unless it was the last one. */
  begin(name: string, epoch: number, epochs: number, shards: number): void {
    this.#name = name;
    this.#of = `${epoch}/${epochs}`;
    if (!process.stderr.isTTY || epoch > epochs) return;
    this.#bar = new SingleBar({ ...BAR, clearOnComplete: true, format: '{name} {bar} epoch {of}' });
    this.#bar.start(shards, 0, { name: name.padEnd(22), of: this.#of });
  }

  /** Another shard was trained on, copied, or uploaded. */
  shard(): void {
    this.#bar?.increment();
  }

  /** An epoch has ended. */
  epoch({ seconds, stallSeconds, accuracy }: TrainedEpoch): void {
    const note = `${seconds.toFixed(1)} s, ${stallSeconds.toFixed(1)} s of it waiting, accuracy ${(accuracy * 100).toFixed(2)} %`;
    this.say(`${this.#name}: epoch ${this.#of}: ${note}`);
  }

  /** Leaves the terminal as it was. */
  stop(): void {
    this.#bar?.stop();
    this.#bar = undefined;
  }
}
