/** MDS, the shards of MosaicML Streaming. @module */
export { type Dtype, type NdArray, type TypedArray } from '../arrays/nd-array.js';
export { encodeMds, type EncodeMdsOptions } from './encode-mds.js';
export { type PilImage } from './encodings.js';
export { mds, type MdsOptions, type MdsSample } from './mds.js';
