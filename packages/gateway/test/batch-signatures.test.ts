import { Sha256 } from '@smithy/core/checksum';
import { SignatureV4 } from '@smithy/signature-v4';
import { systemClock } from '@tiered/core';
import type { Gateway } from '@tiered/gateway';
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { BATCH, batchOf, bodyOf, entriesOf } from './batch-helpers.js';
import { codeIn, CREDENTIALS, gatewayOn, onSource, send, sourceOf } from './helpers.js';

const ITEMS = [{ objname: 'k' }];
const BODY = bodyOf(ITEMS);
const PAYLOAD = 'x-amz-content-sha256';

function served(): Promise<Gateway> {
  return sourceOf({ k: Buffer.from('hello') })
    .then(onSource)
    .then((hierarchy) => gatewayOn(hierarchy, { credentials: CREDENTIALS }));
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** What signs as clients in any language do. */
function signerAt(gateway: Gateway) {
  const signer = new SignatureV4({
    service: 's3',
    region: 'eu-central-1',
    credentials: CREDENTIALS,
    sha256: Sha256,
    uriEscapePath: false,
    applyChecksum: false,
  });
  const { host } = new URL(gateway.endpoint);
  const signingDate = new Date(performance.timeOrigin + systemClock.now());
  const request = (headers: Readonly<Record<string, string>>) => ({
    method: 'GET',
    protocol: 'http:',
    hostname: host,
    path: BATCH,
    query: {},
    headers: { host, ...headers },
  });
  return {
    headers: async (given: Readonly<Record<string, string>>) =>
      (await signer.sign(request(given), { signingDate })).headers,
    url: async () => {
      const unhoistableHeaders = new Set([PAYLOAD]);
      const options = { signingDate, unhoistableHeaders, unsignableHeaders: unhoistableHeaders };
      const { query } = await signer.presign(request({ [PAYLOAD]: 'UNSIGNED-PAYLOAD' }), options);
      return `${BATCH}?${new URLSearchParams(query as Record<string, string>).toString()}`;
    },
  };
}

describe('signed batches', () => {
  it.each([
    ['its hash', sha256(BODY)],
    ['no hash, and say so', 'UNSIGNED-PAYLOAD'],
  ])('[X3] have a body with %s', async (_, hash) => {
    const gateway = await served();
    const headers = await signerAt(gateway).headers({ [PAYLOAD]: hash });
    const { body } = await batchOf(gateway, ITEMS, {}, { headers });
    expect((await entriesOf(body)).map(({ bytes }) => bytes.toString())).toEqual(['hello']);
  });

  it.each([
    ['the hash of another body', sha256(Buffer.from('other')), 400, 'XAmzContentSHA256Mismatch'],
    ['no hash', undefined, 400, 'InvalidRequest'],
    ['chunks that are signed', 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD', 501, 'NotImplemented'],
  ])('[X3] are refused with %s', async (_, hash, status, code) => {
    const gateway = await served();
    const signed = await signerAt(gateway).headers(hash === undefined ? {} : { [PAYLOAD]: hash });
    const answer = await batchOf(gateway, ITEMS, {}, { headers: signed });
    expect([answer.status, codeIn(answer)]).toEqual([status, code]);
  });

  it('[X3] cannot be given another hash', async () => {
    const gateway = await served();
    const headers = await signerAt(gateway).headers({ [PAYLOAD]: sha256(Buffer.from('other')) });
    const changed = { ...headers, [PAYLOAD]: sha256(BODY) };
    expect(codeIn(await batchOf(gateway, ITEMS, {}, { headers: changed }))).toBe('SignatureDoesNotMatch');
  });

  it('[X3] are not answered without a signature, and not read', async () => {
    const gateway = await served();
    const headers = { 'content-length': '1000', expect: '100-continue' };
    const answer = await send(gateway, BATCH, { headers });
    expect([answer.status, codeIn(answer)]).toEqual([403, 'AccessDenied']);
  });

  it('[X3] are not what a presigned URL is for: it says nothing of the body', async () => {
    const gateway = await served();
    const answer = await send(gateway, await signerAt(gateway).url(), { body: BODY });
    expect([answer.status, codeIn(answer)]).toEqual([400, 'InvalidRequest']);
  });
});
