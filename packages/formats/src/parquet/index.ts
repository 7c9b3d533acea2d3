/** Parquet files: a record is a row group, and its samples are rows. @module */
export { parquet, type ParquetOptions, type ParquetRow } from './parquet.js';
