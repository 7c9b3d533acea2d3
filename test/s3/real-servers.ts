import { S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, inject } from 'vitest';
import { missingForRadosgw, startRadosgw } from '../../tools/servers/radosgw.js';
import type { RealServer } from '../../tools/servers/real-server.js';
import { missingForSwift, startSwift } from '../../tools/servers/swift.js';
import { registerMissing } from '../missing.js';

/** For machines that are busy. */
const LONG_MS = 180_000;

/** A server that tests can be run against. */
export interface Offer {
  readonly name: string;
  readonly start: () => Promise<RealServer>;
  /** The command that installs it; `undefined` if it is installed. */
  readonly missing: string | undefined;
}

/** Swift, and in the nightly run radosgw. */
export function realServers(): Offer[] {
  const swift = { name: 'Swift', start: startSwift, missing: missingForSwift() };
  const radosgw = { name: 'radosgw', start: startRadosgw, missing: missingForRadosgw() };
  return inject('nightly') ? [swift, radosgw] : [swift];
}

/** A client of the AWS SDK, with the secret of the server's user or another one. */
export function clientOf({ endpoint, region, credentials }: RealServer, secretAccessKey?: string): S3Client {
  return new S3Client({
    endpoint,
    region,
    credentials: { ...credentials, ...(secretAccessKey !== undefined && { secretAccessKey }) },
    forcePathStyle: true,
    // Swift does not know the checksums that the SDK adds by default.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
}

/**
 * Registers tests that share a server, which runs from before the first to after the last. Where it is not
 * installed, there is one skipped test instead that says how to install it; with `CI=true` it fails.
 * @param register Registers them. The server is there only when they run.
 */
export function describeServer(
  { name, start, missing }: Offer,
  register: (server: () => RealServer) => void,
): void {
  describe(name, () => {
    if (missing !== undefined) {
      registerMissing(name, missing);
      return;
    }
    let server: RealServer | undefined;
    beforeAll(async () => {
      server = await start();
    }, LONG_MS);
    // Swift's many small files take a while to remove.
    afterAll(() => server?.close(), LONG_MS);
    register(() => {
      if (server === undefined) throw new Error(`${name} runs in tests and hooks only`);
      return server;
    });
  });
}
