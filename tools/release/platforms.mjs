/*
 * The platforms that get packages with what is compiled: `@tiered/native-linux-x64-gnu` and so on. What
 * publishes imports this where nothing is installed, so it imports nothing.
 */

/** That of Debian 10 and RHEL 8, which Node 20 needs as well. */
export const GLIBC = '2.28';

const GNU = [
  { name: 'linux-x64-gnu', cpu: 'x64', libc: 'glibc', target: `x86_64-linux-gnu.${GLIBC}` },
  { name: 'linux-arm64-gnu', cpu: 'arm64', libc: 'glibc', target: `aarch64-linux-gnu.${GLIBC}` },
];
const MUSL = [
  { name: 'linux-x64-musl', cpu: 'x64', libc: 'musl', target: 'x86_64-linux-musl' },
  { name: 'linux-arm64-musl', cpu: 'arm64', libc: 'musl', target: 'aarch64-linux-musl' },
];

/** The packages of which a part is compiled, below packages/, and where that works. */
export const COMPILED = [
  { short: 'native', platforms: [...GNU, ...MUSL], keywords: ['tiered-storage', 'node-api', 'linux'] },
  { short: 'interpose', platforms: GNU, keywords: ['tiered-storage', 'ld-preload', 'linux'] },
];

/** The names of all packages with binaries. */
export const PLATFORM_PACKAGES = COMPILED.flatMap(({ short, platforms }) =>
  platforms.map(({ name }) => `@tiered/${short}-${name}`),
);
