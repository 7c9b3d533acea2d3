import { mkdir } from 'node:fs/promises';
import { freePorts } from '../../tools/servers/processes.js';
import type { Contestant, Running, Served } from './contestants.js';
import type { Source } from './source.js';

/** A server that answers at an endpoint. */
export interface Started {
  readonly server: Running;
  readonly endpoint: string;
}

/** Starts a server before a source. */
export async function startOne(
  { start }: Contestant,
  source: Source,
  served: Pick<Served, 'dataset' | 'directory' | 'quota'>,
): Promise<Started> {
  const [port = 0] = await freePorts(1);
  await mkdir(served.directory, { recursive: true });
  const { endpoint } = await source.counts();
  return {
    server: await start({ ...served, source: endpoint, port }),
    endpoint: `http://127.0.0.1:${port}`,
  };
}
