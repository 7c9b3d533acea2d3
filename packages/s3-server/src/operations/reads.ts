import {
  BEHIND_KEY,
  checksumOf,
  getObject as getFound,
  listObjects as listFound,
  listObjectsV2 as listFoundV2,
  takePage,
  textOfByteString,
  type Answer,
  type OpenObject,
  type Page,
  type PageOptions,
  type Range,
  type ReadStorage,
} from '@tiered/gateway/internal';
import type { StoredObject } from '../storage.js';
import type { Call } from './call.js';
import { checksumHeaders } from './objects.js';

/** GetObject, with the bytes. */
export async function getObject(call: Call): Promise<Answer<StoredObject>> {
  const reads = readCall(call);
  const answer = await getFound(reads);
  if (answer.content === undefined) return answer;
  const { object, range } = answer.content;
  // Objects in memory are one piece.
  for await (const body of reads.storage.open(object, { range })) return { ...answer, body };
  return answer;
}

/** HeadObject. */
export function headObject(call: Call): Promise<Answer<StoredObject>> {
  return getFound(readCall(call));
}

/** ListObjects. */
export function listObjects(call: Call): Promise<Answer> {
  return listFound(readCall(call));
}

/** ListObjectsV2. */
export function listObjectsV2(call: Call): Promise<Answer> {
  return listFoundV2(readCall(call));
}

const UNCONDITIONAL = {
  'if-match': undefined,
  'if-none-match': undefined,
  'if-modified-since': undefined,
  'if-unmodified-since': undefined,
};

function readCall(call: Call) {
  const { request, pageSize, gone, ignoreConditions } = call;
  const headers = ignoreConditions ? { ...request.headers, ...UNCONDITIONAL } : request.headers;
  return { request: { ...request, headers }, storage: new MemoryReads(call), pageSize, signal: gone };
}

/** A bucket in memory, as seen by the read operations. */
class MemoryReads implements ReadStorage<StoredObject> {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  list(options: PageOptions): Promise<Page> {
    const { bucket, emptyPage, newId } = this.#call;
    if (emptyPage) {
      const next = options.from === '' ? BEHIND_KEY : options.from;
      return Promise.resolve({ objects: [], commonPrefixes: [], next, id: newId() });
    }
    const sorted = bucket.sortedKeys();
    const page = takePage(
      {
        count: sorted.length,
        keyAt: (index) => sorted[index] ?? '',
        objectAt: (index) => {
          const key = textOfByteString(sorted[index] ?? '');
          const object = bucket.get(key);
          if (object === undefined) return undefined;
          const { size, etag, lastModified } = object;
          return { key, size, etag, lastModified };
        },
      },
      options,
    );
    return Promise.resolve(page);
  }

  stat(key: string): Promise<StoredObject | undefined> {
    return Promise.resolve(this.#call.bucket.get(key));
  }

  open(object: StoredObject, { range }: { readonly range: Range }): OpenObject {
    const piece = object.bytes.subarray(range.start, range.end + 1);
    return {
      from: undefined,
      async *[Symbol.asyncIterator]() {
        yield await Promise.resolve(piece);
      },
    };
  }

  async checksumOf(object: StoredObject): Promise<readonly string[]> {
    const { defaultChecksum } = this.#call;
    if (defaultChecksum === undefined) return [];
    const checksum = await object.checksum(async () => ({
      algorithm: defaultChecksum,
      value: await checksumOf(defaultChecksum, object.bytes),
      type: 'FULL_OBJECT',
    }));
    return checksumHeaders(checksum);
  }
}
