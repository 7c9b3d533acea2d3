import { isNoSample } from '../samples/no-samples.js';

/**
 * The classes of images in directories, in the order of their labels: the first directories below the root,
 * sorted by code points, as torchvision's `ImageFolder` does.
 * @param keys Those of all images. A directory without an object is no class, unlike in torchvision. Marks of
 * directories (keys that end with a slash), hidden files and the like are no images.
 * @param root Where the directories of the classes are, such as `train`. Default: at the root of the source.
 */
export function classesOf(keys: Iterable<string>, root = ''): string[] {
  const classes = new Set<string>();
  for (const key of keys) {
    const found = isNoSample(key, 0) ? undefined : classIn(key, root);
    if (found !== undefined) classes.add(found);
  }
  return [...classes].sort(byCodePoints);
}

/** The first directory of a key below a root. Undefined for keys that are not in one. */
export function classIn(key: string, root: string): string | undefined {
  const prefix = root === '' || root.endsWith('/') ? root : `${root}/`;
  const end = key.indexOf('/', prefix.length);
  return key.startsWith(prefix) && end > prefix.length ? key.slice(prefix.length, end) : undefined;
}

/**
 * As Python compares texts. JavaScript compares UTF-16, in which some signs are before others of less code.
 */
function byCodePoints(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
