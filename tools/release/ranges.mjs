/*
 * Which ranges manifests may have. Published packages depend on others by caret: users get fixes without a
 * release of ours, and one copy of a package that several of theirs need. The lock file says what was tested.
 */

const CARET = /^\^\d+\.\d+\.\d+$/;
const EXACT = /^\d+\.\d+\.\d+$/;
/** A directory of this repository, or a second version under a name of its own. */
const ELSEWHERE = /^(file:packages\/|npm:[^@]+@\d+\.\d+\.\d+$)/;

/** Dependencies of published packages that are exact, each with its reason. */
const EXACT_BECAUSE = [
  {
    name: /^@tiered\/(native|interpose)-linux-/,
    reason: 'What is compiled and what uses it are of one commit, and check nothing.',
  },
];

const isExact = (name) => EXACT_BECAUSE.some((exception) => exception.name.test(name));

/**
 * Siblings as peers take any version: changesets makes a release of all packages a major one when a peer's
 * new version is outside of its range. All are released together, so the one that is installed fits.
 */
const SIBLING = /^@tiered\//;
const ANY = '*';

/** A published manifest: carets, but for the exceptions; peers are never exact. */
export function checkRanges({ dependencies, optionalDependencies, peerDependencies }) {
  const own = { ...dependencies, ...optionalDependencies };
  const siblings = broken(peerDependencies, (name, range) => !SIBLING.test(name) || range === ANY);
  const others = [
    ...broken(own, (name, range) => (isExact(name) ? EXACT : CARET).test(range)),
    ...broken(peerDependencies, (name, range) => SIBLING.test(name) || CARET.test(range)),
  ];
  return [
    ...others.map(
      ([name, range]) => `${name} ${range}: write ^${range.replace(/^\D+/, '')} (tools/release/ranges.mjs)`,
    ),
    ...siblings.map(([name, range]) => `${name} ${range}: write ${ANY} (tools/release/ranges.mjs)`),
  ];
}

/** What only developers install is pinned: two clones of one commit have the same tools. */
export function checkTools({ devDependencies }) {
  return broken(devDependencies, (name, range) => EXACT.test(range) || ELSEWHERE.test(range)).map(
    ([name, range]) => `${name} ${range}: pin the version of a devDependency`,
  );
}

/** All packages have one version, and ask for no older sibling than that. */
export function checkSiblings({ version, dependencies }, versions) {
  return Object.entries(dependencies ?? {})
    .filter(([name, range]) => versions.has(name) && range !== `^${version}`)
    .map(([name, range]) => `${name} ${range}: all packages are released together, write ^${version}`);
}

/** A lock that names a registry would bind others to it. */
export function checkLock(lock) {
  return Object.entries(lock.packages)
    .filter(([, { resolved = '' }]) => /^[a-z+]+:/.test(resolved))
    .map(([name, { resolved }]) => `package-lock.json: ${name} is resolved to ${resolved}`);
}

function broken(ranges, isGood) {
  return Object.entries(ranges ?? {}).filter(([name, range]) => !isGood(name, range));
}
