import { createHash } from 'node:crypto';
import {
  byteString,
  noSuchBucket,
  PLAIN,
  type ChecksumAlgorithm,
  type FoundObject,
} from '@tiered/gateway/internal';

/** A checksum that is kept with an object. `COMPOSITE` is a checksum over the checksums of the parts. */
export interface StoredChecksum {
  readonly algorithm: ChecksumAlgorithm;
  readonly value: string;
  readonly type: 'FULL_OBJECT' | 'COMPOSITE';
}

/** The properties of an object besides its bytes. */
export interface ObjectDetails {
  /** Milliseconds since 1970. */
  readonly lastModified: number;
  /** Names and values in turn. Default: only the Content-Type `binary/octet-stream`, as in S3. */
  readonly metadata?: readonly string[] | undefined;
  readonly checksum?: StoredChecksum | undefined;
  /** Default: the MD5 of the bytes. */
  readonly etag?: string | undefined;
}

/** An object. It is never changed, only replaced. */
export class StoredObject implements FoundObject {
  readonly bytes: Uint8Array;
  /** In quotes. */
  readonly etag: string;
  readonly lastModified: number;
  readonly metadata: readonly string[];
  readonly #details: ObjectDetails;
  #default: Promise<StoredChecksum> | undefined;

  constructor(bytes: Uint8Array, details: ObjectDetails) {
    const { lastModified, metadata = PLAIN, etag } = details;
    this.bytes = bytes;
    this.etag = etag ?? `"${createHash('md5').update(bytes).digest('hex')}"`;
    this.lastModified = lastModified;
    this.metadata = metadata;
    this.#details = details;
  }

  get size(): number {
    return this.bytes.byteLength;
  }

  /** Returns the same object with a weak ETag. */
  weakened(): StoredObject {
    return new StoredObject(this.bytes, { ...this.#details, etag: `W/${this.etag}` });
  }

  /** Returns the checksum that it was stored with. Otherwise calls `compute`, once, and keeps the result. */
  async checksum(compute: () => Promise<StoredChecksum>): Promise<StoredChecksum> {
    return this.#details.checksum ?? (this.#default ??= compute());
  }
}

/** A part of an upload that has arrived. */
export interface UploadedPart {
  readonly bytes: Uint8Array;
  readonly etag: string;
}

/** An upload that is neither completed nor aborted. */
export interface Upload {
  readonly key: string;
  readonly metadata: readonly string[];
  /** The checksum that the client requested when the upload began. */
  readonly checksum:
    { readonly algorithm: ChecksumAlgorithm; readonly type: StoredChecksum['type'] } | undefined;
  readonly parts: Map<number, UploadedPart>;
}

/** A bucket: its objects, and its open uploads. */
export class Bucket {
  readonly name: string;
  /** Whether anyone may read. */
  readonly isPublic: boolean;
  readonly #weakEtags: boolean;
  readonly uploads = new Map<string, Upload>();
  readonly #objects = new Map<string, StoredObject>();
  #sorted: readonly string[] | undefined;

  constructor(name: string, { isPublic, weakEtags }: { isPublic: boolean; weakEtags: boolean }) {
    this.name = name;
    this.isPublic = isPublic;
    this.#weakEtags = weakEtags;
  }

  get(key: string): StoredObject | undefined {
    return this.#objects.get(key);
  }

  put(key: string, object: StoredObject): void {
    if (!this.#objects.has(key)) this.#sorted = undefined;
    this.#objects.set(key, this.#weakEtags ? object.weakened() : object);
  }

  delete(key: string): void {
    if (this.#objects.delete(key)) this.#sorted = undefined;
  }

  /**
   * Returns the keys in the order of their UTF-8, each as a byte string. They are sorted on the first call
   * after a change.
   */
  sortedKeys(): readonly string[] {
    return (this.#sorted ??= [...this.#objects.keys()].map(byteString).sort());
  }
}

/** All buckets of a server. */
export class Storage {
  readonly buckets = new Map<string, Bucket>();

  /** @throws S3Error `NoSuchBucket`. */
  bucket(name: string): Bucket {
    const bucket = this.buckets.get(name);
    if (bucket === undefined) throw noSuchBucket(name);
    return bucket;
  }
}
