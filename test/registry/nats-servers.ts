import { afterAll, beforeAll, describe, onTestFinished } from 'vitest';
import { missingForNats, NatsServer, natsServers } from '../../tools/servers/nats.js';
import { NatsRegistry, type NatsRegistryOptions } from '@tiered/cluster/nats';
import { registerMissing } from '../missing.js';

/**
 * Registers tests for each nats-server that is here. Where none is installed, there is one skipped test that
 * says how to install it; with `CI=true` it fails.
 */
export function describeNats(register: (program: string) => void): void {
  const install = missingForNats();
  if (install !== undefined) {
    registerMissing('nats-server', install);
    return;
  }
  for (const { name, program } of natsServers()) describe(name, () => register(program));
}

/** A server for all tests of a block. */
export function sharedServer(program: string): () => NatsServer {
  let server: NatsServer | undefined;
  beforeAll(async () => {
    server = await NatsServer.start(program);
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());
  return () => {
    if (server === undefined) throw new Error('nats-server runs in tests and hooks only');
    return server;
  };
}

/** A server for one test. */
export async function ownServer(program: string, args?: readonly string[], jetstream?: boolean) {
  const server = await NatsServer.start(program, args, jetstream);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

/** A registry that is closed when the test ends. */
export function registryOf(options: NatsRegistryOptions): NatsRegistry {
  const registry = new NatsRegistry(options);
  onTestFinished(() => registry.close());
  return registry;
}
