import { fork } from 'node:child_process';
import { once } from 'node:events';

/** What the gateway has. */
export interface GatewayPlan {
  readonly objects: number;
  /** Of each object. */
  readonly bytes: number;
}

/** Whose requests the gateway answers. */
export const credentials = { accessKeyId: 'BENCH', secretAccessKey: 'not a secret' };

/** The key of an object. */
export function keyOf(i: number): string {
  return `train/class-${i % 10}/${String(i).padStart(7, '0')}.jpg`;
}

/** A gateway in another process. */
export interface GatewayProcess extends AsyncDisposable {
  readonly endpoint: string;
  /** Microseconds of CPU that it has taken so far. */
  readonly cpu: () => Promise<number>;
}

/** Starts a gateway that has all of its objects in memory. */
export async function startGateway(plan: GatewayPlan): Promise<GatewayProcess> {
  const child = fork(new URL('gateway.ts', import.meta.url), [JSON.stringify(plan)]);
  const [endpoint] = (await once(child, 'message')) as [string];
  return {
    endpoint,
    cpu: async () => {
      const told = once(child, 'message') as Promise<[number]>;
      child.send('cpu');
      return (await told)[0];
    },
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}
