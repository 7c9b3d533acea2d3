import type { CommandHost } from '../host.js';

/** How often something is shown. */
export interface DrawingOptions {
  /** Seconds between two looks. */
  readonly interval: number;
  /** Looks. Default: until the command is interrupted. */
  readonly count?: number;
  /** Each look as a line of JSON. */
  readonly json?: boolean;
}

/** What is shown of a look. */
export interface Look {
  /** As JSON. */
  readonly value: unknown;
  readonly text: string;
}

/** Shows something again and again: in place on a terminal, else below each other. */
export async function drawAgain(
  { clock, output, write }: CommandHost,
  { interval, count = Infinity, json = false }: DrawingOptions,
  look: (isFirst: boolean) => Promise<Look>,
): Promise<void> {
  const { createLogUpdate } = await import('log-update');
  const update = output.isTTY === true && !json ? createLogUpdate(output) : undefined;
  for (let looks = 1; ; looks++) {
    const { value, text } = await look(looks === 1);
    if (update === undefined) write(`${json ? JSON.stringify(value) : text}\n`);
    else update(text);
    if (looks >= count) break;
    await clock.sleep(interval * 1000);
  }
  update?.done();
}

/** Characters of a line, where what is written is read in a terminal. Undefined in a file or a pipe. */
export function widthOf({ output }: CommandHost): number | undefined {
  return output.isTTY === true ? output.columns : undefined;
}
