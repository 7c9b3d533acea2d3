/** HDF5 files. @module */
export { type Dtype, type NdArray, type TypedArray } from '../arrays/nd-array.js';
export { hdf5, type Hdf5Options } from './hdf5.js';
export { type Hdf5Sample } from './samples.js';
export { type Hdf5Value } from './values.js';
