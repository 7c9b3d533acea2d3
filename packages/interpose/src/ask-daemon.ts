import { TieredError } from '@tiered/core';
import { onAbort } from '@tiered/core/internal';
import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import { SOCKET } from './daemon/session-directory.js';

/**
 * Has a daemon list its source again, so that programs read copies also of what came or changed since.
 * Resolves when that is done.
 * @param directory Of its session, as in the option `at`.
 * @throws TieredError `TIERED_NOT_FOUND` if there is no daemon; `TIERED_IO` if the listing failed, or the
 * daemon ended. An abort rejects with `signal.reason`; the daemon goes on.
 */
export async function rescanAt(
  directory: string,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<void> {
  const connection = net.connect(path.join(directory, SOCKET));
  const stop = onAbort(signal, (reason) => connection.destroy(reason));
  try {
    await once(connection, 'connect').catch((cause: unknown) => {
      if (signal?.aborted === true) throw cause;
      throw new TieredError(
        'TIERED_NOT_FOUND',
        `There is no daemon at ${directory}; start "tiered daemon" there.`,
        { cause },
      );
    });
    connection.write('r\0');
    let answer = '';
    for await (const part of connection as AsyncIterable<Buffer>) {
      answer += part.toString();
      if (answer.endsWith('\0')) break;
    }
    if (answer !== '+\0')
      throw new TieredError('TIERED_IO', `The daemon at ${directory} ${reasonOf(answer)}`);
  } finally {
    stop();
    connection.destroy();
  }
}

function reasonOf(answer: string): string {
  if (!answer.endsWith('\0')) return 'ended before it had listed the source.';
  return `could not list the source: ${answer.slice(1, -1)} Programs find what it knew before.`;
}
