import { missingForNats, NatsServer } from '../../tools/servers/nats.js';
import { Network } from '../../tools/servers/network.js';
import { Jobs } from './job.js';
import type { Machine } from './measuring.js';

const NODES = 4;
/** The node of the server, beside those of the jobs. */
const SERVER = NODES;

/**
 * Whether there can be nodes here. Where there cannot, stderr says what is missing.
 * @throws Error in CI, where nothing may be left out.
 */
export function hasNodes(): boolean {
  const nats = missingForNats();
  const missing = Network.missing() ?? (nats && `There is no nats-server here. Install it: ${nats}`);
  if (missing === undefined) return true;
  if (process.env['CI'] === 'true') throw new Error(missing);
  process.stderr.write(`Without the jobs on ${NODES} nodes. ${missing}\n`);
  return false;
}

/**
 * Works with jobs each of which is on a node of its own: a network namespace. They meet on a nats-server of
 * another node.
 * @param mount Where the source is mounted: nodes share all but the network.
 */
export async function withNodes(mount: string, work: (machine: Machine) => Promise<void>): Promise<void> {
  using network = new Network(NODES + 1);
  await using server = await NatsServer.start('nats-server', [], true, network.host(SERVER));
  const insides = Array.from({ length: NODES }, (_, node) => network.host(node).inside);
  await using jobs = await Jobs.start(insides);
  const registry = (run: number) => ({ servers: server.url, name: `run-${run}` });
  await work({ registry, mount, jobs: jobs.list });
}
