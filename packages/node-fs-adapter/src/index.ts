export { FileSystemDriver } from './driver.js';
export { type FileSystemDriverOptions } from './options.js';
