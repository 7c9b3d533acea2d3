import type { FoundObject } from '../protocol/found-object.js';
import type { S3Request } from '../protocol/requests.js';
import type { ReadStorage } from './read-storage.js';

/** An authorized request, and what operations that read need to know of the server. */
export interface ReadCall<Found extends FoundObject = FoundObject> {
  readonly request: S3Request<string>;
  readonly storage: ReadStorage<Found>;
  /** The most keys of a page of a listing. */
  readonly pageSize: number;
  /** Ends the work, since nobody waits for the answer. */
  readonly signal: AbortSignal;
}
