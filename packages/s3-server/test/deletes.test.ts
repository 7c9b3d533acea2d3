import { createHash } from 'node:crypto';
import { DeleteObjectsCommand } from '@aws-sdk/client-s3';
import { describe, expect, it } from 'vitest';
import { BUCKET, clientOf, codeIn, sendSigned, startServer } from './helpers.js';

async function serverWith(keys: readonly string[]) {
  const server = await startServer();
  for (const key of keys) server.put(BUCKET, key, Buffer.from('x'));
  const remove = (body: string, headers?: Record<string, string>) =>
    sendSigned(server, {
      method: 'POST',
      target: `/${BUCKET}?delete=`,
      body: Buffer.from(body),
      headers: headers ?? { 'content-md5': createHash('md5').update(body).digest('base64') },
    });
  return { server, remove };
}

describe('deleting many objects', () => {
  it('removes those that are named, and takes missing ones for removed', async () => {
    const { server } = await serverWith(['a&<b>', ' c ', 'd\u{1f600}', 'kept']);
    const client = clientOf(server);
    const Objects = ['a&<b>', ' c ', 'd\u{1f600}', 'missing'].map((Key) => ({ Key }));
    const { Deleted } = await client.send(new DeleteObjectsCommand({ Bucket: BUCKET, Delete: { Objects } }));
    expect(Deleted?.map(({ Key }) => Key)).toEqual(['a&<b>', ' c ', 'd\u{1f600}', 'missing']);
    expect(server.keys(BUCKET)).toEqual(['kept']);
    expect(server.requests.DeleteObjects).toBe(1);
  });

  it('says nothing about them if asked to be quiet', async () => {
    const { server, remove } = await serverWith(['a']);
    const answer = await remove('<Delete><Quiet>true</Quiet><Object><Key>a</Key></Object></Delete>');
    expect(answer.status).toBe(200);
    expect(answer.body.toString()).not.toContain('Deleted');
    expect(server.keys(BUCKET)).toEqual([]);
  });

  it('needs a hash of the body', async () => {
    const { server, remove } = await serverWith(['a']);
    const answer = await remove('<Delete><Object><Key>a</Key></Object></Delete>', {});
    expect([answer.status, codeIn(answer)]).toEqual([400, 'InvalidRequest']);
    expect(server.keys(BUCKET)).toEqual(['a']);
  });

  it.each([
    ['that is none', 'Delete'],
    ['that does not end', '<Delete><Object><Key>a</Key></Object>'],
    ['with another root', '<Remove><Object><Key>a</Key></Object></Remove>'],
    ['without a key', '<Delete><Object></Object></Delete>'],
    ['without objects', '<Delete></Delete>'],
    [
      'with entities of its own',
      '<!DOCTYPE Delete [<!ENTITY e "a">]><Delete><Object><Key>&e;</Key></Object></Delete>',
    ],
    ['with more than 1000 keys', `<Delete>${'<Object><Key>a</Key></Object>'.repeat(1001)}</Delete>`],
  ])('refuses XML %s', async (_, body) => {
    const { server, remove } = await serverWith(['a']);
    expect(codeIn(await remove(body))).toBe('MalformedXML');
    expect(server.keys(BUCKET)).toEqual(['a']);
  });
});
