/** Records of a fixed size, one behind the other. @module */
export { rawRecords, type RawRecordsOptions } from './raw-records.js';
