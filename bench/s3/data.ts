import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { S3Credentials } from '@tiered/s3-adapter';

/** What the server holds: buckets with so many objects of one size. */
export interface ServerPlan {
  readonly buckets: readonly { readonly bucket: string; readonly keys: number; readonly bytes: number }[];
  /** Milliseconds that each request waits. Default: none. */
  readonly latencyMs?: number;
}

/** The key of an object of a bucket, in directories of 1000, as datasets have them. */
export function keyOf(i: number): string {
  return `train/${String(Math.floor(i / 1000)).padStart(4, '0')}/${String(i).padStart(7, '0')}.jpg`;
}

/** A server in another process. */
export interface BenchServer extends AsyncDisposable {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: S3Credentials;
}

/** Starts the S3 server of `@tiered/s3-server` in a process of its own. */
export async function startServer(plan: ServerPlan): Promise<BenchServer> {
  const child: ChildProcess = fork(new URL('server.ts', import.meta.url), [JSON.stringify(plan)]);
  const [address] = (await once(child, 'message')) as [Omit<BenchServer, typeof Symbol.asyncDispose>];
  return {
    ...address,
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}
