// @ts-check
/**
 * Makes the packages of each platform: `python3 -m pip install ziglang==0.13.0`, then `node
 * packages/native/platforms/build.js`. Zig brings compilers and C libraries of all of them. A package is a
 * directory below build/packages with a manifest, the licence and the addon; nothing is published. What is
 * not for this machine is not run here.
 *
 * glibc 2.28 is that of Debian 10 and RHEL 8, which Node 20 needs as well.
 */
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { compile } from '../src-c/compile.js';

const own = path.join(import.meta.dirname, '..');
const zig = (process.env['ZIG_CC'] ?? 'python3 -m ziglang cc').split(' ');

const PLATFORMS = [
  { cpu: 'x64', libc: 'glibc', target: 'x86_64-linux-gnu.2.28' },
  { cpu: 'arm64', libc: 'glibc', target: 'aarch64-linux-gnu.2.28' },
  { cpu: 'x64', libc: 'musl', target: 'x86_64-linux-musl' },
  { cpu: 'arm64', libc: 'musl', target: 'aarch64-linux-musl' },
];

const { version, license, engines } = JSON.parse(await readFile(path.join(own, 'package.json'), 'utf8'));
for (const { cpu, libc, target } of PLATFORMS) {
  const platform = `linux-${cpu}-${libc === 'glibc' ? 'gnu' : libc}`;
  const addon = await compile({
    name: `zig-${platform}`,
    compiler: [...zig, '-target', target],
    flags: ['-O2', '-s'],
  });
  const directory = path.join(own, 'build/packages', `native-${platform}`);
  await mkdir(directory, { recursive: true });
  const manifest = {
    name: `@tiered/native-${platform}`,
    version,
    description: `The native part of @tiered/native for ${platform}.`,
    license,
    engines,
    os: ['linux'],
    cpu: [cpu],
    libc: [libc],
    main: 'tiered-native.node',
    files: ['tiered-native.node'],
  };
  await writeFile(path.join(directory, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  await copyFile(path.join(own, 'LICENSE'), path.join(directory, 'LICENSE'));
  await copyFile(addon, path.join(directory, 'tiered-native.node'));
  console.log(`${manifest.name}: ${directory}`);
}
