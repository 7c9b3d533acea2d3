import { formatBytes, type Clock, type Hierarchy, type HierarchyEvents } from '@tiered/core';
import { Presets, SingleBar } from 'cli-progress';

/** Where a progress bar may be drawn: `process.stderr`, say. */
export type Terminal = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

/** Work that takes less time needs no bar. */
const UNTIL_SHOWN_MS = 2_000;
/** Where there is no terminal, as in the log of a job: often enough to see that it goes on. */
const UNTIL_LINE_MS = 10_000;

/**
 * Of each bar. Wrapping of lines stays on: Ctrl-C ends the process before the bar could turn it on again, and
 * the shell would be left without.
 */
const BAR = { clearOnComplete: true, linewrap: true };

/** Lines of a log, each at least ten seconds after the one before, and after the beginning. */
class LogLines {
  readonly #log: Terminal;
  readonly #clock: Clock;
  #last: number;

  constructor(log: Terminal, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
    this.#last = clock.now();
  }

  tell(text: () => string): void {
    const now = this.#clock.now();
    if (now - this.#last < UNTIL_LINE_MS) return;
    this.#last = now;
    this.#log.write(`${text()}\n`);
  }
}

/**
 * Shows how far work is that takes long: a bar on a terminal from two seconds on, and a line every ten
 * seconds where there is no terminal.
 */
export class ProgressBar {
  readonly #clock: Clock;
  readonly #begun: number;
  readonly #doing: string;
  readonly #lines: LogLines;
  readonly #bar: SingleBar | undefined;
  #shown = false;

  /** @param doing The text in front of the bar. */
  constructor(terminal: Terminal, clock: Clock, doing: string) {
    this.#clock = clock;
    this.#begun = clock.now();
    this.#doing = doing;
    this.#lines = new LogLines(terminal, clock);
    if (terminal.isTTY !== true) return;
    this.#bar = new SingleBar(
      { ...BAR, stream: terminal, format: `${doing} {bar} {percentage} %, {eta_formatted} to go` },
      Presets.shades_classic,
    );
  }

  update(done: number, total: number): void {
    if (this.#bar === undefined) {
      const part = () => `${done.toLocaleString('en')} of ${total.toLocaleString('en')}`;
      this.#lines.tell(
        () => `${this.#doing}: ${part()} (${Math.floor((100 * done) / Math.max(1, total))} %)`,
      );
      return;
    }
    if (this.#clock.now() - this.#begun < UNTIL_SHOWN_MS) return;
    if (!this.#shown) this.#bar.start(total, done);
    else this.#bar.update(done);
    this.#shown = true;
  }

  stop(): void {
    if (this.#shown) this.#bar?.stop();
  }
}

/** Counts the objects of a listing, as a `ProgressBar` does: their number is not known before the end. */
export class ListingProgress {
  readonly #hierarchy: Hierarchy;
  readonly #bar: SingleBar;
  readonly #listener: HierarchyEvents['scan'];
  #shown = false;

  constructor(hierarchy: Hierarchy, terminal: Terminal, clock: Clock) {
    this.#hierarchy = hierarchy;
    const begun = clock.now();
    const lines = new LogLines(terminal, clock);
    const format = 'listing the source: {value} objects, {size}';
    this.#bar = new SingleBar({ ...BAR, stream: terminal, format }, Presets.shades_classic);
    this.#listener = ({ objects, bytes }) => {
      const size = formatBytes(bytes);
      if (terminal.isTTY !== true) {
        lines.tell(() => `listing the source: ${objects.toLocaleString('en')} objects, ${size} so far`);
        return;
      }
      if (clock.now() - begun < UNTIL_SHOWN_MS) return;
      // The total is not known before the end; nothing of it is shown.
      if (!this.#shown) this.#bar.start(Number.MAX_SAFE_INTEGER, objects, { size });
      else this.#bar.update(objects, { size });
      this.#shown = true;
    };
    hierarchy.on('scan', this.#listener);
  }

  stop(): void {
    this.#hierarchy.off('scan', this.#listener);
    if (this.#shown) this.#bar.stop();
  }
}
