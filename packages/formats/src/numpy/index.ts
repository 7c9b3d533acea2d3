/** Arrays of NumPy: `.npy` and `.npz` files. @module */
export { type Dtype, type NdArray, type TypedArray } from '../arrays/nd-array.js';
export { encodeNpy } from './encode-npy.js';
export { npy, type NpyOptions } from './npy.js';
export { npz, type NpzOptions, type NpzSample } from './npz.js';
