/** WebDataset shards: tar files, a sample of which is the files of one name. @module */
export { encodeTar, type EncodeTarOptions } from './encode-tar.js';
export { webdataset, type WebdatasetOptions, type WebdatasetSample } from './webdataset.js';
