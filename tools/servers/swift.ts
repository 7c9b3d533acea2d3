import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { accepts, answersOk } from './asking.js';
import { freePorts, type Processes } from './processes.js';
import { missing, startServer, type Installation, type RealServer } from './real-server.js';
import { SWIFT_ACCESS_KEY, swiftFiles, type SwiftPorts } from './swift-config.js';

const SWIFT: Installation = {
  name: 'Swift',
  programs: [
    'swift-proxy-server',
    'swift-account-server',
    'swift-container-server',
    'swift-object-server',
    'memcached',
  ],
  install: 'bash tools/servers/install.sh swift',
};

/** Its modules are those of Debian's Python, and another one may come first on the PATH. */
const PYTHON = '/usr/bin/python3';
const script = path.join(import.meta.dirname, 'run-swift.py');
const repository = path.resolve(import.meta.dirname, '../..');

/** The command that installs Swift; `undefined` if it is installed. */
export const missingForSwift = (): string | undefined => missing(SWIFT);

/**
 * Starts OpenStack Swift with s3api and tempauth: a proxy, one server each for accounts, containers and
 * objects, each with one disk, and memcached. Needs no root.
 * @throws Error with the end of the logs, and the command that installs it; also if no directory at hand has
 * extended attributes.
 */
export async function startSwift(): Promise<RealServer> {
  const secret = randomBytes(16).toString('hex');
  return startServer(SWIFT, directoryWithXattrs(), async (processes) => {
    const ports = await swiftPorts();
    await launch(processes, ports, secret);
    return {
      endpoint: `http://127.0.0.1:${ports.proxy}`,
      region: 'us-east-1',
      credentials: { accessKeyId: SWIFT_ACCESS_KEY, secretAccessKey: secret },
    };
  });
}

async function swiftPorts(): Promise<SwiftPorts> {
  const [proxy = 0, account = 0, container = 0, object = 0, memcached = 0] = await freePorts(5);
  return { proxy, account, container, object, memcached };
}

async function launch(processes: Processes, ports: SwiftPorts, secret: string): Promise<void> {
  const { directory } = processes;
  mkdirSync(path.join(directory, 'devices/disk'), { recursive: true });
  for (const [name, text] of Object.entries(swiftFiles(directory, ports, secret)))
    writeFileSync(path.join(directory, name), text);
  const storagePorts = [ports.account, ports.container, ports.object].map(String);
  await processes.run('rings', PYTHON, [script, 'rings', directory, ...storagePorts]);

  const start = (kind: 'proxy' | 'account' | 'container' | 'object') => {
    const args = [script, 'serve', `${kind}-server`, path.join(directory, `${kind}-server.conf`)];
    const health = `http://127.0.0.1:${ports[kind]}/healthcheck`;
    return processes.start(kind, PYTHON, args, () => answersOk(health));
  };
  const { username } = os.userInfo();
  const memory = ['-u', username, '-l', '127.0.0.1', '-p', `${ports.memcached}`, '-U', '0', '-m', '16'];
  await Promise.all([
    processes.start('memcached', 'memcached', memory, () => accepts(ports.memcached)),
    start('account'),
    start('container'),
    start('object'),
    start('proxy'),
  ]);
}

/** Not every file system has the extended attributes that Swift needs, a tmpfs of an older kernel for one. */
function directoryWithXattrs(): string {
  const cache = path.join(repository, 'node_modules/.cache');
  const found = [os.tmpdir(), cache].find((directory) => {
    try {
      mkdirSync(directory, { recursive: true });
      execFileSync(PYTHON, [script, 'xattrs', directory], { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  });
  if (found !== undefined) return found;
  throw new Error(
    `Swift keeps metadata in extended attributes, and neither ${os.tmpdir()} nor ${cache} has them. ` +
      'Set TMPDIR to a directory on ext4, xfs or btrfs.',
  );
}
