import { expect, inject, it, onTestFinished } from 'vitest';
import { NatsServer } from '../../tools/servers/nats.js';
import { describeNats } from '../registry/nats-servers.js';
import type { Network } from '../../tools/servers/network.js';
import { at, DATA, describeNodes, epoch, NODES, only, seen, type StartNodes } from './nodes.js';

/** The machine of the server, beside those of the nodes. */
const SERVER = NODES;
/** Milliseconds that a record lives. After as many a node misses others, once it has the registry again. */
const TTL_MS = 6_000;
/** Nobody is late on a machine that is busy, so that what the source gives can be counted. */
const PATIENT = { ttlMs: TTL_MS, deadlineMs: 60_000 };

/** Nodes whose registry is a server on a machine of its own. */
async function nodesOnNats(nodes: StartNodes, program: string) {
  let server: NatsServer | undefined;
  const registryOn = async (network: Network) => {
    const started = await NatsServer.start(program, [], true, network.host(SERVER));
    onTestFinished(() => started[Symbol.asyncDispose]());
    server = started;
    return { servers: started.url, name: 'nodes', ttlMs: TTL_MS };
  };
  const all = await nodes({ ...PATIENT, registryOn });
  if (server === undefined) throw new Error('no registry was started');
  return { ...all, server };
}

/** How a registry is lost, and found again. */
interface Outage {
  begin(server: NatsServer, network: Network): unknown;
  end(server: NatsServer, network: Network): unknown;
}

const OUTAGES: Readonly<Record<string, Outage>> = {
  'is partitioned': {
    begin: (_, network) => network.cut(SERVER),
    end: (_, network) => network.shape(SERVER, {}),
  },
  'is killed': { begin: (server) => server.kill(), end: (server) => server.restart() },
  ...(inject('nightly') && {
    'is killed, and loses its storage': {
      begin: (server) => server.kill(),
      end: (server) => server.restart({ keepStorage: false }),
    },
  }),
};

describeNats((program) => {
  describeNodes('nodes whose registry is on a machine of its own', (nodes) => {
    it.each(Object.entries(OUTAGES))(
      '[Z1] [Z2] [Z3] [Z6] go on while nats-server %s, and see afterwards that one has left',
      async (_, outage) => {
        const { mount, network, ranks, server, start } = await nodesOnNats(nodes, program);
        const reading = epoch(ranks, 0);
        await at(ranks, 0).hasRead(20);
        await outage.begin(server, network);
        await reading;
        await Promise.all(ranks.map((node) => node.sees(({ hasRegistry }) => !hasRegistry)));
        const told = await epoch(ranks, 1);
        expect(mount.counts().bytes).toBe(DATA);
        for (const { stats } of told) expect(stats).toMatchObject({ inVain: 0, members: NODES });

        await at(ranks, 3).kill();
        const left = only(ranks, 3);
        await epoch(left, 2);
        await outage.end(server, network);
        const areLeft = (others: readonly number[]) =>
          others.length === left.length - 1 && !others.includes(3);
        await Promise.all(
          left.map((node) => node.sees(({ hasRegistry, others }) => hasRegistry && areLeft(others))),
        );
        const before = mount.counts().bytes;
        expect(before).toBeLessThanOrEqual(NODES * DATA);

        const back = await start(3);
        await seen([...left, back], NODES - 1);
        await epoch([...left, back], 3);
        // Its tier has kept what it had.
        expect(mount.counts().bytes).toBe(before);
      },
    );
  });
});
