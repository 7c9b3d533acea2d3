import { xmlAnswer, type Answer } from '../protocol/answers.js';
import { givenChecksums } from '../protocol/checksums.js';
import { malformedXml, parseXml, type XmlElement } from '../protocol/parse-xml.js';
import { notImplemented, S3Error } from '../protocol/s3-error.js';
import { element, xmlDocument } from '../protocol/xml.js';
import { bodyOf, xmlOf, type WriteCall } from './call.js';
import { assertLength, assertPlain } from './headers.js';

/** PutObject. */
export async function putObject(call: WriteCall): Promise<Answer> {
  const { request, storage, signal } = call;
  const { key, headers } = request;
  storage.innerOf(key);
  assertPlain(headers);
  assertLength(headers);
  const body = bodyOf(call);
  const etag = await storage.put(key, body, { ifAbsent: headers['if-none-match'] !== undefined, signal });
  const described = etag === undefined ? [] : ['ETag', etag];
  return { status: 200, headers: [...described, ...givenChecksums(body.checksums)] };
}

/** DeleteObject. A missing object is no error. */
export async function deleteObject({ request, storage, signal }: WriteCall): Promise<Answer> {
  assertPlain(request.headers);
  await storage.delete(request.key, signal);
  return { status: 204, headers: [] };
}

const MAX_KEYS = 1000;

/** DeleteObjects. Each object that cannot be deleted becomes an error of its own. */
export async function deleteObjects(call: WriteCall): Promise<Answer> {
  const { xml, body } = await xmlOf(call);
  // Web pages cannot send these headers without being asked for permission.
  if (call.request.headers['content-md5'] === undefined && body.checksums.size === 0)
    throw new S3Error(400, 'InvalidRequest', 'Missing required header for this request: Content-MD5');
  const root = parseXml(xml, 'Delete');
  const objects = root.all('Object');
  const keys = objects.map((object) => object.textOf('Key') ?? '');
  if (keys.length === 0 || keys.length > MAX_KEYS || keys.includes('')) throw malformedXml();
  const isQuiet = root.textOf('Quiet') === 'true';
  const results = await Promise.all(objects.map((object) => deleteOne(object, isQuiet, call)));
  return xmlAnswer(xmlDocument('DeleteResult', results.join('')));
}

async function deleteOne(object: XmlElement, isQuiet: boolean, call: WriteCall): Promise<string> {
  const { storage, signal } = call;
  const key = object.textOf('Key') ?? '';
  try {
    if (object.children.some(({ name }) => name !== 'Key')) throw notImplemented('deletes with conditions');
    await storage.delete(key, signal);
    return isQuiet ? '' : `<Deleted>${element('Key', key)}</Deleted>`;
  } catch (error) {
    signal.throwIfAborted();
    const { code, message } =
      error instanceof S3Error ? error : new S3Error(500, 'InternalError', 'The object was not deleted.');
    return `<Error>${element('Key', key)}${element('Code', code)}${element('Message', message)}</Error>`;
  }
}
