/** Of a member of a tar, which sample it belongs to, and as what. */
export interface Part {
  /** The name of the sample: the path up to the first dot of the file name. */
  readonly sample: string;
  /** What is behind that dot, in lower case. */
  readonly part: string;
}

/** What webdataset keeps for itself. */
const META = /^__[^/]*__($|\/)/;

/**
 * The part that a file is by webdataset's rule. Undefined for files that are none: those without a dot in
 * their name or with nothing before it, and those below `__name__`.
 */
export function partOf(path: string): Part | undefined {
  const dot = path.indexOf('.', path.lastIndexOf('/') + 1);
  const isHidden = dot === 0 || path[dot - 1] === '/';
  if (dot === -1 || isHidden || META.test(path)) return undefined;
  return { sample: path.slice(0, dot), part: path.slice(dot + 1).toLowerCase() };
}
