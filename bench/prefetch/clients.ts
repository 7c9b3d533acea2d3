import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** How samples come to another process. */
export type Transport = 'socket' | 'memory';

/** The bytes that a client has taken, and the microseconds of processor time of its process. */
export interface Consumed {
  readonly bytes: number;
  readonly user: number;
  readonly system: number;
}

/**
 * Starts a process that takes its share of a prefetcher's samples: it connects when it is told to, and begins
 * when it is told so again.
 */
export async function startClient(socket: string, transport: Transport): Promise<ChildProcess> {
  const child = fork(new URL('client.ts', import.meta.url), [socket, transport]);
  await once(child, 'message');
  return child;
}

/** Tells a client something; resolves to its answer. */
export async function told(child: ChildProcess, what: string): Promise<unknown> {
  const answer = once(child, 'message');
  child.send(what);
  const [said] = (await answer) as unknown[];
  return said;
}
