import { SingleBar } from 'cli-progress';
import type { TrainedEpoch } from './train.js';

const BAR = {
  barCompleteChar: '█',
  barIncompleteChar: '░',
  barsize: 30,
  hideCursor: true,
  linewrap: false,
} as const;

/** Shows on stderr how far a run is: a bar on a terminal, a line an epoch in a log. */
export class Progress {
  #bar: SingleBar | undefined;
  #name = '';
  #epochs = 0;
  #done = 0;

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

  /** A setup begins. */
  begin(name: string, epochs: number, shards: number, fillsFirst: boolean): void {
    this.#name = name;
    this.#epochs = epochs;
    this.#done = 0;
    if (!process.stderr.isTTY) {
      if (fillsFirst) this.say(`${name}: copying everything to the disk tier`);
      return;
    }
    this.#bar = new SingleBar({ ...BAR, format: '{name} {bar} epoch {epoch}/{epochs}  {note}' });
    const note = fillsFirst ? 'copying everything to the disk tier' : '';
    this.#bar.start(shards * (fillsFirst ? epochs + 1 : epochs), 0, {
      name: name.padEnd(22),
      epoch: 1,
      epochs,
      note,
    });
  }

  /** Another shard was trained on, copied, or uploaded. */
  shard(): void {
    this.#bar?.increment();
  }

  /** An epoch has ended. */
  epoch({ seconds, stallSeconds, accuracy }: TrainedEpoch): void {
    this.#done += 1;
    const note = `${seconds.toFixed(1)} s, ${stallSeconds.toFixed(1)} s of it waiting, accuracy ${(accuracy * 100).toFixed(2)} %`;
    if (this.#bar === undefined) {
      this.say(`${this.#name}: epoch ${this.#done}/${this.#epochs}: ${note}`);
    } else {
      this.#bar.update({ epoch: Math.min(this.#done + 1, this.#epochs), note: `last: ${note}` });
    }
  }

  /** Leaves the terminal as it was. */
  stop(): void {
    this.#bar?.stop();
    this.#bar = undefined;
  }
}
