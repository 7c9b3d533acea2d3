/** What lies beside data in many places: what it is about, or that it is complete. */
const ABOUT = /^(?:readme|licen[cs]e|notice|changelog|copying)(?:\.(?:md|txt|rst|html))?$/i;
/** Marks and lists of Spark, Databricks and Delta Lake: `_SUCCESS`, `_metadata`, `_committed_17`. */
const MARK = /^_[^.]*$/;
/** Checksums, lists of records of TFRecord and WebDataset, and what Windows leaves in directories. */
const BESIDE =
  /(?:\.(?:crc|md5|sha1|sha256|sha512|idx|tfindex)|^(?:md5|sha1|sha256|sha512)sums?(?:\.txt)?|^thumbs\.db|^desktop\.ini)$/i;

/** Whether an object only lets a console of S3 show a directory: no bytes, and a slash at the end. */
export function isDirectoryMark(key: string, size: number): boolean {
  return size === 0 && key.endsWith('/');
}

/**
 * Whether an object is a sample in no format: a mark of a directory, a hidden file, or one that tells of the
 * others. Objects in hidden directories are hidden.
 */
export function isNoSample(key: string, size: number): boolean {
  if (isDirectoryMark(key, size) || /(?:^|\/)\./.test(key)) return true;
  const name = key.slice(key.lastIndexOf('/') + 1);
  return [ABOUT, MARK, BESIDE].some((form) => form.test(name));
}
