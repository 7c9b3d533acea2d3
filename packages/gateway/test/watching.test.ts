import { accessLogLine, Gateway, mergedMetrics, type AccessLogEntry } from '@tiered/gateway';
import { endedMetrics } from '@tiered/gateway/internal';
import { describe, expect, it } from 'vitest';
import { BUCKET, codeIn, CREDENTIALS, gatewayOn, hierarchyOn, send, sourceOf } from './helpers.js';

const TARGET = `/${BUCKET}/k`;

describe('the port for those who watch', () => {
  it('says that it lives and is ready, and counts what was answered', async () => {
    const hierarchy = await hierarchyOn(await sourceOf({ k: Buffer.from('hello') }));
    const gateway = await gatewayOn(hierarchy, { metrics: { port: 0 } });
    await hierarchy.place('k');
    await send(gateway, TARGET);
    await send(gateway, `/${BUCKET}/none`);
    const watched = { endpoint: gateway.metricsEndpoint ?? '' };
    for (const path of ['/healthz', '/readyz'])
      expect((await send(watched, path)).body.toString()).toBe('ok\n');
    const { headers, body } = await send(watched, '/metrics');
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    const lines = body.toString().split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        'tiered_gateway_answers_total{operation="GetObject",status="200"} 1',
        'tiered_gateway_answers_total{operation="GetObject",status="404"} 1',
        'tiered_gateway_bytes_total{from="ram"} 5',
        'tiered_gateway_answering 0',
        `tiered_objects{bucket="${BUCKET}"} 1`,
        `tiered_tier_used_bytes{bucket="${BUCKET}",level="0"} 5`,
      ]),
    );
    expect((await send(watched, '/')).status).toBe(404);
    expect((await send(watched, '/healthz', { method: 'POST' })).status).toBe(405);
  });

  it('tells what came of asking each peer, as long as it is known', async () => {
    const hierarchy = await hierarchyOn(await sourceOf({ k: Buffer.from('hello') }));
    const peer = { rank: 3, reads: 7, bytes: 700, missed: 2, failed: 1, isAsked: false };
    let known = [peer];
    const bucket = { hierarchy, peers: () => known };
    await using gateway = await Gateway.start({ buckets: { [BUCKET]: bucket } });
    const lines = async () => (await mergedMetrics([await gateway.metrics()])).split('\n');
    const of = `{bucket="${BUCKET}",rank="3"}`;
    expect(await lines()).toEqual(
      expect.arrayContaining([
        `tiered_peer_reads${of} 7`,
        `tiered_peer_read_bytes${of} 700`,
        `tiered_peer_missed${of} 2`,
        `tiered_peer_failed${of} 1`,
        `tiered_peer_asked${of} 0`,
      ]),
    );
    known = [];
    expect((await lines()).join()).not.toContain('rank="3"');
  });

  it('has one text of several gateways, and the counts of those that have ended', async () => {
    const source = await sourceOf({ k: Buffer.from('hello') });
    const told = [];
    for (let i = 0; i < 2; i++) {
      const gateway = await gatewayOn(await hierarchyOn(source));
      await send(gateway, TARGET);
      told.push(await gateway.metrics());
    }
    const answers = 'tiered_gateway_answers_total{operation="GetObject",status="200"} 2';
    expect((await mergedMetrics(told)).split('\n')).toEqual(
      expect.arrayContaining([
        answers,
        'tiered_gateway_began_seconds_count{from="source"} 2',
        `tiered_objects{bucket="${BUCKET}"} 1`,
        `tiered_tier_quota_bytes{bucket="${BUCKET}",level="0"} ${2 * 64 * 2 ** 20}`,
        `tiered_tier_in_service{bucket="${BUCKET}",level="0"} 1`,
      ]),
    );
    const ended = await mergedMetrics([await endedMetrics(told)]);
    expect(ended.split('\n')).toContain(answers);
    expect(ended).not.toContain('tiered_gateway_connections');
  });

  it('says that it is not ready once a hierarchy was closed', async () => {
    const hierarchy = await hierarchyOn(await sourceOf({ k: Buffer.from('hello') }));
    const gateway = await gatewayOn(hierarchy, { metrics: { port: 0 } });
    await hierarchy.close();
    expect((await send({ endpoint: gateway.metricsEndpoint ?? '' }, '/readyz')).status).toBe(503);
    const answer = await send(gateway, TARGET);
    expect([answer.status, codeIn(answer)]).toEqual([503, 'ServiceUnavailable']);
  });

  it('[X3] shows metrics to those who have the token', async () => {
    const hierarchy = await hierarchyOn(await sourceOf({}));
    const gateway = await gatewayOn(hierarchy, { metrics: { port: 0, token: 'secret' } });
    const watched = { endpoint: gateway.metricsEndpoint ?? '' };
    const statusOf = async (authorization?: string) =>
      (await send(watched, '/metrics', authorization === undefined ? {} : { headers: { authorization } }))
        .status;
    expect(await statusOf()).toBe(401);
    expect(await statusOf('Bearer wrong!')).toBe(401);
    expect(await statusOf('Bearer secret')).toBe(200);
    expect((await send(watched, '/healthz')).status).toBe(200);
  });
});

describe('the access log', () => {
  it('[X3] has a line for each answer, and no secrets', async () => {
    const entries: AccessLogEntry[] = [];
    const hierarchy = await hierarchyOn(await sourceOf({ 'k\n2': Buffer.from('hello') }));
    const gateway = await gatewayOn(hierarchy, {
      credentials: CREDENTIALS,
      onAnswer: (entry) => entries.push(entry),
    });
    const query = `X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=${'ab'.repeat(32)}&X-Amz-Credential=${CREDENTIALS.accessKeyId}`;
    await send(gateway, `/${BUCKET}/k%0A2?${query}`);
    await gateway.close();
    const [entry] = entries;
    expect(entry).toMatchObject({ method: 'GET', bucket: BUCKET, key: 'k\n2', status: 400, isBroken: false });
    const line = accessLogLine(entry as AccessLogEntry);
    expect(line).not.toContain('\n');
    expect(line).not.toMatch(/abab|TIEREDTESTINGKEY|secret/);
    expect(JSON.parse(line)).toEqual({ ...entry });
  });
});
