/** A configuration with one mistake. */
export interface Mistake {
  readonly what: string;
  readonly config: Readonly<Record<string, unknown>>;
  /** The field that is told. */
  readonly field: string;
  /** A word that the message holds. */
  readonly told?: string | undefined;
  /** Whether the JSON Schema cannot know. */
  readonly beyondSchema?: boolean | undefined;
}

const source = { driver: 'memory' };

/** Mistakes that people make with what a gateway offers. */
export const GATEWAY_MISTAKES: readonly Mistake[] = [
  {
    what: 'a glob that is no list',
    config: { source, gateway: { changing: '*' } },
    field: 'gateway.changing',
  },
  {
    what: 'a glob that no key has',
    config: { source, gateway: { changing: ['a', '/b'] } },
    field: 'gateway.changing[1]',
  },
  {
    what: 'a prefix to be written that is all keys',
    config: { source: { driver: 's3', bucket: 'data' }, gateway: { writes: [''] } },
    field: 'gateway.writes[0]',
  },
  {
    what: 'a prefix to be written that leads elsewhere',
    config: { source: { driver: 's3', bucket: 'data' }, gateway: { writes: ['a/', 'a/../b/'] } },
    field: 'gateway.writes[1]',
  },
  {
    what: 'writes to a directory',
    config: { source, gateway: { writes: ['a/'] } },
    field: 'gateway.writes',
    told: 'a source that is a bucket',
    beyondSchema: true,
  },
  {
    what: 'keys that change where versions do not matter',
    config: { source, gateway: { changing: ['*'] }, versions: 'pin' },
    field: 'gateway.changing',
    told: 'cannot be combined with versions',
    beyondSchema: true,
  },
];
