import { TieredError } from '@tiered/core';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';

/** One open of a file. */
export interface TraceEntry {
  /** When, in seconds since the recording began. */
  readonly seconds: number;
  /** Of which object. */
  readonly key: string;
}

/** A line of a trace: `[1.25,"images/cat.jpg"]` and a newline. */
export function traceLine({ seconds, key }: TraceEntry): string {
  const line = JSON.stringify([Number(seconds.toFixed(6)), key]);
  // They end lines too, for whoever reads them as Unicode says, and JSON leaves them as they are.
  return `${line.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')}\n`;
}

/**
 * Reads a trace that was recorded, entry by entry. A line at the end that was cut off, because its daemon was
 * killed, is left out.
 * @throws TieredError `TIERED_DATA_CORRUPT` for anything else that is no line of a trace; errors of the
 * system.
 */
export async function* readTrace(file: string): AsyncGenerator<TraceEntry, void, undefined> {
  let number = 0;
  let wrong: { readonly line: string; readonly number: number } | undefined;
  for await (const line of linesOf(file)) {
    if (wrong !== undefined) throw corrupt(file, wrong);
    number += 1;
    const entry = entryOf(line);
    if (entry === undefined) wrong = { line, number };
    else yield entry;
  }
  if (wrong !== undefined && (await endsWithNewline(file))) throw corrupt(file, wrong);
}

/** Brings traces together that were recorded at the same time, such as those of the ranks of a training. */
export async function* mergeTraces(
  traces: readonly AsyncIterable<TraceEntry>[],
): AsyncGenerator<TraceEntry, void, undefined> {
  const iterators = traces.map((trace) => trace[Symbol.asyncIterator]());
  try {
    const heads = await Promise.all(
      iterators.map(async (entries) => ({ entries, next: await entries.next() })),
    );
    for (;;) {
      let first: (typeof heads)[number] | undefined;
      for (const head of heads) {
        if (head.next.done === true) continue;
        const isEarlier = first?.next.done !== false || head.next.value.seconds < first.next.value.seconds;
        if (isEarlier) first = head;
      }
      if (first?.next.done !== false) return;
      yield first.next.value;
      first.next = await first.entries.next();
    }
  } finally {
    // What went wrong before says more.
    await Promise.allSettled(iterators.map(async (entries) => entries.return?.()));
  }
}

/** A part of a trace: without the first opens, and with only so many. */
export async function* cutTrace(
  trace: AsyncIterable<TraceEntry>,
  { skip = 0, take = Infinity }: { readonly skip?: number | undefined; readonly take?: number | undefined },
): AsyncGenerator<TraceEntry, void, undefined> {
  let position = 0;
  for await (const entry of trace) {
    if (position >= skip + take) return;
    if (position >= skip) yield entry;
    position += 1;
  }
}

/** The keys of a trace, as a plan. */
export async function* keysOf(trace: AsyncIterable<TraceEntry>): AsyncGenerator<string, void, undefined> {
  for await (const { key } of trace) yield key;
}

/** Closes the file also if it is left early, which the interface does not. */
async function* linesOf(file: string): AsyncGenerator<string, void, undefined> {
  const input = createReadStream(file);
  try {
    yield* createInterface({ input, crlfDelay: Infinity });
  } finally {
    input.destroy();
    if (!input.closed) await once(input, 'close');
  }
}

function entryOf(line: string): TraceEntry | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!Array.isArray(parsed) || parsed.length !== 2) return undefined;
  const [seconds, key] = parsed as [unknown, unknown];
  return typeof seconds === 'number' && typeof key === 'string' ? { seconds, key } : undefined;
}

async function endsWithNewline(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1));
    return buffer.toString() === '\n';
  } finally {
    await handle.close();
  }
}

function corrupt(
  file: string,
  { line, number }: { readonly line: string; readonly number: number },
): TieredError {
  const shown = line.length > 80 ? `${line.slice(0, 80)} and more` : line;
  return new TieredError(
    'TIERED_DATA_CORRUPT',
    `${file}, line ${number}: expected [seconds, "key"], as tiered run --record writes it, got ${shown}`,
  );
}
