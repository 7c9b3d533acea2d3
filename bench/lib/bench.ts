/** How a bench was asked to run. */
export interface BenchOptions {
  /** Fewer rounds and less data: to see that it works, not to quote it. */
  readonly quick: boolean;
  /** Tells how far it is. */
  readonly progress: (text: string) => void;
}

/** A figure that the project has set itself an aim for. */
export interface Check {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** In words, such as `>= 0.9`. */
  readonly aim: string;
  readonly ok: boolean;
}

/**
 * What stands in a column of a row: a list of numbers, such as one an epoch, is written with spaces between.
 */
export type Cell = string | number | readonly number[];

/** A line of a table. Rows with the same columns make one. */
export type Row = Readonly<Record<string, Cell>>;

/** What a bench found. */
interface BenchResult {
  readonly rows: readonly Row[];
  readonly checks: readonly Check[];
  /** Draws the same, where a bench has a picture: a whole SVG document. */
  readonly chart?: () => Promise<string>;
}

/** A bench: one file in bench/, its default export. */
export interface Bench {
  /** One sentence: what is compared with what. */
  readonly summary: string;
  run(options: BenchOptions): Promise<BenchResult>;
}

/** A check that a value is at least so much. */
export function atLeast(name: string, value: number, aim: number, unit: string): Check {
  return { name, value, unit, aim: `>= ${aim}`, ok: value >= aim };
}

/** A check that a value is at most so much. */
export function atMost(name: string, value: number, aim: number, unit: string): Check {
  return { name, value, unit, aim: `<= ${aim}`, ok: value <= aim };
}
