import { randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { accepts, answersOk } from './asking.js';
import { freePorts, type Processes } from './processes.js';
import { cephConf, cephKeyring } from './radosgw-config.js';
import { missing, startServer, type Installation, type RealServer } from './real-server.js';

const RADOSGW: Installation = {
  name: 'radosgw',
  programs: ['radosgw', 'radosgw-admin', 'ceph', 'ceph-mon', 'ceph-osd', 'monmaptool'],
  install: 'bash tools/servers/install.sh radosgw',
};

/** The command that installs radosgw; `undefined` if it is installed. */
export const missingForRadosgw = (): string | undefined => missing(RADOSGW);

/**
 * Starts Ceph's radosgw on one monitor and one OSD that keeps all objects in memory. Needs no root.
 * @throws Error with the end of the logs, and the command that installs it.
 */
export async function startRadosgw(): Promise<RealServer> {
  const credentials = { accessKeyId: 'tester', secretAccessKey: randomBytes(20).toString('hex') };
  return startServer(RADOSGW, os.tmpdir(), async (processes) => {
    const [monitor = 0, gateway = 0] = await freePorts(2);
    await startCluster(processes, monitor, gateway);
    await startGateway(processes, gateway, credentials);
    return { endpoint: `http://127.0.0.1:${gateway}`, region: 'us-east-1', credentials };
  });
}

async function startCluster(processes: Processes, monitor: number, gateway: number): Promise<void> {
  const { directory } = processes;
  const cluster = randomUUID();
  const osd = { uuid: randomUUID(), key: cephKey() };
  const config = ['-c', path.join(directory, 'ceph.conf')];
  const keyring = path.join(directory, 'keyring');
  for (const name of ['mon', 'osd']) mkdirSync(path.join(directory, name));
  writeFileSync(path.join(directory, 'ceph.conf'), cephConf(directory, cluster, monitor, gateway));
  writeFileSync(keyring, cephKeyring({ 'mon.': cephKey(), 'client.admin': cephKey(), 'osd.0': osd.key }), {
    mode: 0o600,
  });

  const map = path.join(directory, 'monmap');
  const address = `[v2:127.0.0.1:${monitor}]`;
  await processes.run('mon', 'monmaptool', ['--create', '--fsid', cluster, '--addv', 'a', address, map]);
  const mon = [...config, '-i', 'a'];
  await processes.run('mon', 'ceph-mon', [...mon, '--mkfs', '--monmap', map, '--keyring', keyring]);
  const listens = () => accepts(monitor);
  await processes.start('mon', 'ceph-mon', [...mon, '-f'], listens);
  const disk = [...config, '-i', '0', '--osd-uuid', osd.uuid];
  await Promise.all([
    processes.run('ceph', 'ceph', [...config, 'osd', 'new', osd.uuid, '0']),
    // It must not ask the monitor, which does not know it yet.
    processes.run('osd', 'ceph-osd', [...disk, '--mkfs', '--no-mon-config', '--key', osd.key]),
  ]);
  // Nobody waits for the OSD: the calls of the gateway's programs do.
  await processes.start('osd', 'ceph-osd', [...disk, '-f'], async () => true);
}

async function startGateway(
  processes: Processes,
  port: number,
  { accessKeyId, secretAccessKey }: RealServer['credentials'],
): Promise<void> {
  const config = ['-c', path.join(processes.directory, 'ceph.conf')];
  const user = ['--uid', 'tester', '--display-name', 'tester'];
  const keys = ['--access-key', accessKeyId, '--secret-key', secretAccessKey];
  await processes.run('user', 'radosgw-admin', [...config, 'user', 'create', ...user, ...keys]);
  const answers = () => answersOk(`http://127.0.0.1:${port}/`);
  await processes.start('radosgw', 'radosgw', [...config, '-n', 'client.admin', '-f'], answers);
}

/** A key as Ceph writes it: type 1 (AES), time of creation, length, and 16 bytes. */
function cephKey(): string {
  const head = Buffer.alloc(12);
  head.writeUInt16LE(1, 0);
  head.writeUInt16LE(16, 10);
  return Buffer.concat([head, randomBytes(16)]).toString('base64');
}
