/** A directory as a source or tier. @module */
export { FileSystemDriver } from './driver.js';
export { type FileSystemDriverOptions } from './options.js';
