import { someBytes } from '@tiered/core/testing';
import { loadHierarchy } from '@tiered/config';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { freePorts } from '../../tools/servers/processes.js';
import { describeRedis, openDriver } from './helpers.js';

describeRedis('Redis with TLS and ACL', (servers) => {
  /** Files of an authority, and of a certificate that it signed. */
  function certificates() {
    const { directory } = servers();
    const file = (name: string) => path.join(directory, name);
    const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' });
    const key = (name: string) => [
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-keyout',
      file(name),
    ];
    openssl('req', '-x509', ...key('ca.key'), '-out', file('ca.pem'), '-days', '2', '-subj', '/CN=ca');
    openssl('req', ...key('server.key'), '-out', file('server.csr'), '-subj', '/CN=127.0.0.1');
    writeFileSync(file('names'), 'subjectAltName=IP:127.0.0.1,DNS:localhost\n');
    const signing = [
      '-CA',
      file('ca.pem'),
      '-CAkey',
      file('ca.key'),
      '-CAcreateserial',
      '-extfile',
      file('names'),
    ];
    openssl('x509', '-req', '-in', file('server.csr'), ...signing, '-out', file('server.pem'), '-days', '2');
    return { ca: file('ca.pem'), cert: file('server.pem'), key: file('server.key') };
  }

  async function start() {
    const files = certificates();
    const [port = 0] = await freePorts(1);
    const server = await servers().start({
      'tls-port': `${port}`,
      'tls-ca-cert-file': files.ca,
      'tls-cert-file': files.cert,
      'tls-key-file': files.key,
      user: 'tiered on >the-secret ~tiered:* +getrange +set +unlink +eval +eval_ro +scan',
    });
    return { server, files, port };
  }

  it('needs the rights that the README names, an authority and a certificate', async () => {
    const { files, port, server } = await start();
    const [ca, cert, key] = [files.ca, files.cert, files.key].map((file) => readFileSync(file));
    const user = { username: 'tiered', password: 'the-secret', writable: true, chunk: 1000 };
    const driver = await openDriver({ url: `rediss://127.0.0.1:${port}`, tls: { ca, cert, key }, ...user });
    const bytes = someBytes(3500, 1);
    for (const seed of [2, 1]) await driver.write('object', someBytes(3500, seed), { size: 3500 });
    expect(Buffer.compare(await driver.read('object', { offset: 0, length: 9999 }), bytes)).toBe(0);
    expect(Buffer.compare(await driver.read('object', { offset: 5, length: 9 }), bytes.subarray(5, 14))).toBe(
      0,
    );
    expect(await driver.usage({})).toEqual({ bytes: 3500, objects: 1 });
    await driver.delete('object', {});
    expect(await server.cli('DBSIZE')).toBe('0');

    for (const tls of [true, { ca }]) {
      const stranger = await openDriver({ url: `rediss://localhost:${port}`, tls, ...user });
      await expect(stranger.stat('object', {})).rejects.toMatchObject({ code: 'TIERED_UNAVAILABLE' });
    }
    const plain = await openDriver({ url: `redis://127.0.0.1:${port}`, ...user });
    await expect(plain.stat('object', {})).rejects.toMatchObject({ code: 'TIERED_UNAVAILABLE' });
  });

  it('is a tier of a configuration file', async () => {
    const { files, port } = await start();
    const { directory } = servers();
    const file = path.join(directory, 'tiers.json');
    const tls = {
      ca: path.basename(files.ca),
      cert: path.basename(files.cert),
      key: path.basename(files.key),
    };
    const tier = {
      driver: 'redis',
      url: `rediss://127.0.0.1:${port}`,
      username: 'tiered',
      password: '${SECRET}',
      tls,
      quota: '1MiB',
    };
    writeFileSync(file, JSON.stringify({ source: { driver: 'fs', root: '.' }, tiers: [tier] }));
    const hierarchy = await loadHierarchy(file, { env: { SECRET: 'the-secret' } });
    await hierarchy.open();
    await hierarchy.idle();
    for (let round = 0; round < 2; round++) {
      expect(Buffer.from(await hierarchy.read('names')).toString()).toContain('localhost');
      await hierarchy.idle();
    }
    expect(hierarchy.stats()).toMatchObject({ reads: { fromTiers: 1 }, tiers: [{ faults: 0 }] });
    await hierarchy.close();
  });

  it('is a cluster, with the rights that the README names', async () => {
    const rights = '+getrange +set +unlink +eval +eval_ro +scan +cluster|slots +asking';
    const nodes = await servers().startCluster({ user: `tiered on >the-secret ~tiered:* ${rights}` });
    const driver = await openDriver({
      cluster: { nodes: nodes.map(({ port }) => `127.0.0.1:${port}`) },
      ...{ username: 'tiered', password: 'the-secret', writable: true, chunk: 1000 },
    });
    for (const seed of [1, 2]) await driver.write('object', someBytes(9500, seed), { size: 9500 });
    const read = await driver.read('object', { offset: 500, length: 9000 });
    expect(Buffer.compare(read, someBytes(9500, 2).subarray(500))).toBe(0);
    expect(await driver.usage({})).toEqual({ bytes: 9500, objects: 1 });
    await driver.delete('object', {});
    for (const node of nodes) expect(await node.cli('DBSIZE')).toBe('0');
  });
});
