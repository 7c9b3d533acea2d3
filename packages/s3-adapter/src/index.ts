/** A bucket on any S3-compatible service, as a source or tier. @module */
export { type CredentialsSource, type S3Credentials } from './http/credentials.js';
export { S3Driver } from './driver.js';
export { S3ResponseError } from './errors.js';
export { type S3DriverOptions } from './options.js';
