import type { Answer } from '../protocol/answers.js';
import type { S3Operation } from '../protocol/requests.js';
import type { Call } from './call.js';
import { deleteObject, deleteObjects, getObject, headObject, putObject } from './objects.js';
import { listObjects } from './listing.js';
import { abortUpload, completeUpload, createUpload, uploadPart } from './multipart.js';

/** What each operation does. */
export const OPERATION_HANDLERS: Readonly<Record<S3Operation, (call: Call) => Answer | Promise<Answer>>> = {
  HeadBucket: () => ({ status: 200, headers: [] }),
  ListObjectsV2: listObjects,
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
