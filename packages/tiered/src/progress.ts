import { formatBytes, type Clock, type Hierarchy, type HierarchyEvents } from '@tiered/core';
import { Presets, SingleBar } from 'cli-progress';

/** Where a progress bar may be drawn: `process.stderr`, say. */
export type Terminal = NodeJS.WritableStream & { readonly isTTY?: boolean };

/** Work that takes less time needs no bar. */
const UNTIL_SHOWN_MS = 2_000;

/**
 * Of each bar. Wrapping of lines stays on: who ends the process by Ctrl-C ends it before the bar could turn
 * it on again, and the shell would be left without.
 */
const BAR = { clearOnComplete: true, linewrap: true };

/**
 * A progress bar on a terminal for work that takes longer than two seconds. Draws nothing where there is no
 * terminal.
 */
export class ProgressBar {
  readonly #clock: Clock;
  readonly #begun: number;
  readonly #bar: SingleBar | undefined;
  #shown = false;

  /** @param doing The text in front of the bar. */
  constructor(terminal: Terminal, clock: Clock, doing: string) {
    this.#clock = clock;
    this.#begun = clock.now();
    if (terminal.isTTY !== true) return;
    this.#bar = new SingleBar(
      { ...BAR, stream: terminal, format: `${doing} {bar} {percentage} %, {eta_formatted} to go` },
      Presets.shades_classic,
    );
  }

  update(done: number, total: number): void {
    if (this.#bar === undefined || this.#clock.now() - this.#begun < UNTIL_SHOWN_MS) return;
    if (!this.#shown) this.#bar.start(total, done);
    else this.#bar.update(done);
    this.#shown = true;
  }

  stop(): void {
    if (this.#shown) this.#bar?.stop();
  }
}

/** Counts the objects of a listing on a terminal, once it takes longer than two seconds. */
export class ListingProgress {
  readonly #hierarchy: Hierarchy;
  readonly #bar: SingleBar;
  readonly #listener: HierarchyEvents['scan'];
  #shown = false;

  constructor(hierarchy: Hierarchy, terminal: Terminal, clock: Clock) {
    this.#hierarchy = hierarchy;
    const begun = clock.now();
    const format = 'listing the source: {value} objects, {size}';
    this.#bar = new SingleBar({ ...BAR, stream: terminal, format }, Presets.shades_classic);
    this.#listener = ({ objects, bytes }) => {
      if (terminal.isTTY !== true || clock.now() - begun < UNTIL_SHOWN_MS) return;
      const size = { size: formatBytes(bytes) };
      // The total is not known before the end; nothing of it is shown.
      if (!this.#shown) this.#bar.start(Number.MAX_SAFE_INTEGER, objects, size);
      else this.#bar.update(objects, size);
      this.#shown = true;
    };
    hierarchy.on('scan', this.#listener);
  }

  stop(): void {
    this.#hierarchy.off('scan', this.#listener);
    if (this.#shown) this.#bar.stop();
  }
}
