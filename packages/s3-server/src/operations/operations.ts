import { bucketLocation, headBucket, listBuckets } from '@tiered/gateway/internal';
import type { S3Operation } from '../protocol/requests.js';
import type { WholeAnswer } from '../protocol/send.js';
import type { Call } from './call.js';
import { abortUpload, completeUpload, createUpload, uploadPart } from './multipart.js';
import { deleteObject, deleteObjects, putObject } from './objects.js';
import { getObject, headObject, listObjects, listObjectsV2 } from './reads.js';

type Handler = (call: Call) => WholeAnswer | Promise<WholeAnswer>;

/** The handler of each operation. */
export const OPERATION_HANDLERS: Readonly<Record<S3Operation, Handler>> = {
  ListBuckets: ({ buckets }) => listBuckets(buckets),
  HeadBucket: ({ region }) => headBucket(region),
  GetBucketLocation: ({ region }) => bucketLocation(region),
  ListObjects: listObjects,
  ListObjectsV2: listObjectsV2,
  GetObject: getObject,
  HeadObject: headObject,
  PutObject: putObject,
  DeleteObject: deleteObject,
  DeleteObjects: deleteObjects,
  CreateMultipartUpload: createUpload,
  UploadPart: uploadPart,
  CompleteMultipartUpload: completeUpload,
  AbortMultipartUpload: abortUpload,
};
