import { xmlAnswer, type Answer } from '../protocol/answers.js';
import { S3Error } from '../protocol/s3-error.js';
import { malformedXml, parseXml } from '../protocol/xml-parser.js';
import { element, xmlDocument } from '../protocol/xml.js';
import type { Call } from './call.js';

const MAX_KEYS = 1000;

/** DeleteObjects. Missing objects count as deleted. */
export function deleteObjects({ request, bucket }: Call): Answer {
  if (request.headers['content-md5'] === undefined && request.checksums.size === 0) {
    throw new S3Error(400, 'InvalidRequest', 'Missing required header for this request: Content-MD5');
  }
  const root = parseXml(request.body, 'Delete');
  const keys = root.all('Object').map((object) => object.textOf('Key') ?? '');
  if (keys.length === 0 || keys.length > MAX_KEYS || keys.includes('')) throw malformedXml();
  for (const key of keys) bucket.delete(key);
  const quiet = root.textOf('Quiet') === 'true';
  const deleted = quiet ? [] : keys.map((key) => `<Deleted>${element('Key', key)}</Deleted>`);
  return xmlAnswer(xmlDocument('DeleteResult', deleted.join('')));
}
