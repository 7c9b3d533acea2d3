/** Shared by the packages of this repository. Users must not build on it: it may change with any release. */
export { etagOf } from './hierarchy/facts.js';
export { errorAnswer, errorDocument, lengthHeaders, xmlAnswer, type Answer } from './protocol/answers.js';
export { checkSignature, type S3Credentials } from './protocol/authentication.js';
export {
  CHECKSUM_ALGORITHMS,
  givenChecksums,
  checksumOf,
  isChecksumAlgorithm,
  type ChecksumAlgorithm,
} from './protocol/checksums.js';
export { isSigned } from './protocol/claim.js';
export { names, preconditionFailed } from './protocol/conditions.js';
export { PLAIN, type FoundObject } from './protocol/found-object.js';
export { malformedXml, parseXml, type XmlElement } from './protocol/parse-xml.js';
export { parsePartNumber } from './protocol/part-number.js';
export { contentRange, lengthOf, type Range } from './protocol/ranges.js';
export { ReceivedBody, sizeOf } from './protocol/received-body.js';
export {
  asRequest,
  parseTarget,
  READ_OPERATIONS,
  WRITE_OPERATIONS,
  type OperationTable,
  type ReadOperation,
  type WriteOperation,
  type S3Request,
} from './protocol/requests.js';
export { accessDenied, invalidArgument, noSuchBucket, noSuchKey, S3Error } from './protocol/s3-error.js';
export { sameText } from './protocol/same-text.js';
export { element, xmlDocument } from './protocol/xml.js';
export { bucketLocation, headBucket, listBuckets } from './reads/buckets.js';
export { listObjects, listObjectsV2 } from './reads/listing.js';
export { getObject } from './reads/objects.js';
export {
  BEHIND_KEY,
  byteString,
  takePage,
  textOfByteString,
  type ListedObject,
  type Page,
  type PageOptions,
} from './reads/page.js';
export { type OpenObject, type ReadStorage } from './reads/read-storage.js';
export { isLoopback } from './serving/options.js';
export { endedMetrics } from './serving/merged-metrics.js';
export { WatchServer } from './serving/watch-server.js';
