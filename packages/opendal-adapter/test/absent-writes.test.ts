import { OpenDalDriver } from '@tiered/opendal-adapter';
import { describe, expect, it } from 'vitest';
import { files, opened, put, serving, textOf, withCode } from './helpers.js';

const NEW = { size: 3, ifAbsent: true };

/** A driver on a server that keeps one object as Azure does, and says on which conditions it was asked to. */
async function azure() {
  const conditions: (string | undefined)[] = [];
  let there = false;
  const endpoint = await serving((request, response) => {
    request.resume().on('end', () => {
      const condition = request.headers['if-none-match'];
      conditions.push(condition);
      if (condition === '*' && there)
        response
          .writeHead(409, { 'x-ms-error-code': 'BlobAlreadyExists' })
          .end(
            '<Error><Code>BlobAlreadyExists</Code><Message>The specified blob already exists.</Message></Error>',
          );
      else response.writeHead(201).end();
      there = true;
    });
  });
  const options = { endpoint, container: 'data', sas_token: 'sv=1&sig=none' };
  const driver = await opened(new OpenDalDriver({ service: 'azblob', options, writable: true }));
  return { driver, conditions };
}

/** The same for S3. */
async function s3() {
  let there = false;
  const endpoint = await serving((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(request.headers['if-none-match'] === '*' && there ? 412 : 200).end();
      there = true;
    });
  });
  const options = {
    ...{ endpoint, bucket: 'data', region: 'us-east-1', access_key_id: 'x', secret_access_key: 'y' },
    ...{ disable_config_load: 'true', disable_ec2_metadata: 'true' },
  };
  return opened(new OpenDalDriver({ service: 's3', options, writable: true }));
}

describe('writes of OpenDalDriver with ifAbsent', () => {
  it('are decided by the service where it can', async () => {
    const { driver, conditions } = await azure();
    await driver.write('key', Buffer.from('new'), NEW);
    await expect(driver.write('key', Buffer.from('new'), NEW)).rejects.toEqual(withCode('TIERED_EXISTS'));
    await put(driver, 'key');
    expect(conditions).toEqual(['*', '*', undefined]);
    const other = await s3();
    await other.write('key', Buffer.from('new'), NEW);
    await expect(other.write('key', Buffer.from('new'), NEW)).rejects.toEqual(withCode('TIERED_EXISTS'));
    await put(other, 'key');
  });

  it('are refused where nobody decides, before anything is written', async () => {
    const memory = await opened(new OpenDalDriver({ service: 'memory', writable: true }));
    for (const driver of [(await files()).driver, memory]) {
      const write = () => driver.write('key', Buffer.from('new'), NEW);
      await expect(write()).rejects.toEqual(withCode('TIERED_UNSUPPORTED'));
      await expect(driver.stat('key', {})).rejects.toEqual(withCode('TIERED_NOT_FOUND'));
      await put(driver, 'key', 'old');
      await expect(write()).rejects.toEqual(withCode('TIERED_UNSUPPORTED'));
      expect(await textOf(driver, 'key')).toBe('old');
    }
  });
});
