import { z } from 'zod';
import { expected, group } from '../fields.js';

const A_GLOB = 'a glob of keys, such as "**/_versions/*"';

const A_PREFIX = 'a prefix of keys that ends with /, such as "checkpoints/"';

/** The section `gateway`. */
export const gateway = group('options of "tiered serve", such as { changing: ["**/_versions/*"] }', {
  changing: z
    .array(
      z.string(expected(A_GLOB)).regex(/^[^/!]/, expected(A_GLOB)),
      expected(`a list of globs: ${A_GLOB}`),
    )
    .meta({
      title: 'Changing',
      description:
        'Globs of keys whose objects change, such as manifests. The source is asked before a client gets ' +
        'such an object, or the directory that it is directly in. Cannot be combined with versions: pin ' +
        'or ignore. Default: none.',
    })
    .optional(),
  writes: z
    .array(
      z.string(expected(A_PREFIX)).regex(/^(?!(.*\/)?\.{0,2}\/)[^]*\/$/, expected(A_PREFIX)),
      expected(`a list of prefixes: ${A_PREFIX}`),
    )
    .meta({
      title: 'Writes',
      description:
        'Prefixes of keys, each ending with /, below which clients may write and delete. Writes and ' +
        'deletes go to the source, which has to be a bucket. Cannot be combined with versions: pin or ' +
        'ignore. Default: none.',
    })
    .optional(),
}).meta({
  title: 'Gateway',
  description: 'Features of "tiered serve" for clients of S3 beyond reading. Default: none.',
});
