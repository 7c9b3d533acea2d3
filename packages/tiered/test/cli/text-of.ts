import type { Readable } from 'node:stream';

/** All that was written to a stream so far, of which one `read` may give a part only. */
export function textOf(stream: Readable): string {
  let text = '';
  for (;;) {
    const chunk = stream.read() as Buffer | null;
    if (chunk === null) return text;
    text += chunk.toString();
  }
}
