import { configError } from '@tiered/core/internal';
import { damaged, type SampleFormat } from '../contract/format.js';
import { isNoSample } from '../samples/no-samples.js';

/** Options of `imageFolder`. */
export interface ImageFolderOptions {
  /**
   * The classes in the order of their labels. Default: those that `classesOf` finds in the keys of all
   * images, which `openSamples` gives to the format. Give them where a rank or a split may lack some.
   */
  readonly classes?: readonly string[] | undefined;
  /** Where the directories of the classes are, such as `train`. Default: at the root of the source. */
  readonly root?: string | undefined;
  /** Of which files samples are made; others are ignored. Default: the images that torchvision reads. */
  readonly extensions?: readonly string[] | undefined;
}

/** An image and its class. */
export interface LabelledImage {
  /** The file as it is. */
  readonly bytes: Uint8Array;
  /** The number of its class, counted from 0. */
  readonly label: number;
  readonly className: string;
}

/** Those of torchvision's `ImageFolder`. */
const IMAGES = ['.jpg', '.jpeg', '.png', '.ppm', '.bmp', '.pgm', '.tif', '.tiff', '.webp'];

/**
 * Images in directories, one for each class, as torchvision's `ImageFolder` has them. An object is a
 * sample, and its class is the first directory below the root. Nothing is read to index it. What is no
 * image is left out. An image outside of the classes counts as damaged.
 * @throws TieredError `TIERED_CONFIG_INVALID` for no classes, a class that is there twice, or extensions
 * that do not begin with a dot. Without `classes`, only `openSamples` makes it index and decode.
 */
export function imageFolder(options: ImageFolderOptions = {}): SampleFormat<LabelledImage> {
  const { classes, root = '', extensions = IMAGES } = options;
  const labels = new Map((classes ?? []).map((name, label) => [name, label]));
  if (classes !== undefined && (labels.size === 0 || labels.size < classes.length)) {
    throw configError('classes', 'at least one class, and none twice', classes);
  }
  const endings = extensions.map((extension) => extension.toLowerCase());
  if (!endings.every((ending) => ending.startsWith('.'))) {
    throw configError('extensions', 'extensions that begin with a dot', extensions);
  }
  const isImage = (key: string) => endings.some((ending) => key.toLowerCase().endsWith(ending));
  const classOf = (key: string) => {
    if (classes === undefined)
      throw configError('classes', 'the classes, or samples of openSamples', classes);
    const className = classIn(key, root) ?? '';
    const label = labels.get(className);
    return label === undefined ? noClass(key) : { label, className };
  };
  return {
    name: 'image-folder',
    needsNoIndex: true,
    options: { ...(classes && { classes }), root, extensions: endings },
    isSample: isImage,
    ...(classes === undefined && {
      prepare: ({ keys }) => imageFolder({ ...options, classes: classesIn(keys, root) }),
    }),
    index: async ({ key, size }, { onDamage }) => {
      const found = isImage(key) ? classOf(key) : undefined;
      if (found instanceof Error) onDamage(found);
      const records = found === undefined || found instanceof Error ? [] : [size];
      return { offsets: new Float64Array(records.length), lengths: Float64Array.from(records) };
    },
    decode: ({ key, bytes }) => {
      const found = classOf(key);
      if (found instanceof Error) throw found;
      return [{ bytes, ...found }];
    },
  };
}

function classesIn(keys: readonly string[], root: string): readonly string[] {
  const classes = classesOf(keys, root);
  if (classes.length > 0) return classes;
  throw configError('root', 'a directory with a directory of images for each class', root);
}

function noClass(key: string) {
  return damaged(
    { key, offset: 0 },
    'its directory is none of the classes',
    'Give all classes, such as those that classesOf finds in the keys, and the root above them.',
  );
}

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
function classIn(key: string, root: string): string | undefined {
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
