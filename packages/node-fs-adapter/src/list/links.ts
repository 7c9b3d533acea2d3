import fs from 'node:fs';
import path from 'node:path';
import type { ObjectStat } from '@tiered/core';
import { hasErrno } from '../errors.js';
import { describe } from '../file-version.js';
import { isInside, problemOf } from '../root/keys.js';

/** Ways to handle symbolic links that lead out of a root. */
export const LINKS = ['follow', 'inside', 'refuse'] as const;

/** One of `LINKS`. */
export type Links = (typeof LINKS)[number];

/**
 * Links to directories on the way to a file. Without a limit, links to each other's directories would be
 * entered in every order.
 */
const MOST_ON_THE_WAY = 8;

/** A directory of a listing, and the way to it. */
export interface Directory {
  /** The prefix of its keys: empty, or with a `/` at its end. */
  readonly prefix: string;
  readonly realPath: string;
  /** The target of the last link on the way, or the root. */
  readonly from: string;
  /** The earlier parts of the way. Each goes from the target of a link to the directory of the next link. */
  readonly before: readonly { readonly from: string; readonly to: string }[];
}

/** A directory to enter, or why it is left out. */
export type Entering = { readonly directory: Directory } | { readonly leftOut: string };

/** The target of a link. Undefined if it is neither a file nor a directory. */
export type LinkTarget = { readonly object: ObjectStat } | Entering | undefined;

/** Why a link is left out, in words. */
export const OUTSIDE = "it is a symbolic link out of the root, which links: 'follow' would read";
const NOWHERE = 'it is a symbolic link that leads nowhere';
/** For names that this user may not read, such as `lost+found`. */
export const DENIED = 'this user may not read it';
const CIRCLE = 'it is a symbolic link to a directory that the way to it leads through';
const TOO_MANY = `more than ${MOST_ON_THE_WAY} symbolic links to directories are on the way to it`;

/** The root of a listing. */
export function rootOf(realPath: string): Directory {
  return { prefix: '', realPath, from: realPath, before: [] };
}

/** Enters a directory that is a real subdirectory, and no link. */
export function below({ prefix, realPath, from, before }: Directory, name: string): Entering {
  const target = path.join(realPath, name);
  if (isOn(before, target)) return { leftOut: CIRCLE };
  return { directory: { prefix: `${prefix}${name}/`, realPath: target, from, before } };
}

/**
 * Finds the target of a link.
 * @param boundary The directory that links may not leave.
 * @param directory The directory of the link.
 */
export async function follow(boundary: string, directory: Directory, name: string): Promise<LinkTarget> {
  try {
    const target = await fs.promises.realpath(path.join(directory.realPath, name));
    if (!isInside(boundary, target)) return { leftOut: OUTSIDE };
    const stat = await fs.promises.stat(target, { bigint: true });
    if (stat.isFile()) return { object: describe(directory.prefix + name, stat) };
    return stat.isDirectory() ? enter(directory, name, target) : undefined;
  } catch (error) {
    if (hasErrno(error, 'ENOENT', 'ELOOP', 'ENOTDIR')) return { leftOut: NOWHERE };
    if (hasErrno(error, 'EACCES', 'EPERM')) return { leftOut: DENIED };
    throw error;
  }
}

/** Enters a directory by a link. */
function enter({ prefix, realPath, from, before }: Directory, name: string, target: string): Entering {
  const way = [...before, { from, to: realPath }];
  if (isOn(way, target)) return { leftOut: CIRCLE };
  if (way.length > MOST_ON_THE_WAY) return { leftOut: TOO_MANY };
  return { directory: { prefix: `${prefix}${name}/`, realPath: target, from: target, before: way } };
}

function isOn(way: Directory['before'], realPath: string): boolean {
  return way.some(({ from, to }) => isInside(from, realPath) && isInside(realPath, to));
}

/**
 * Goes down to a directory, as a listing from the root would.
 * @param key Key of the directory.
 * @returns undefined if a listing would not reach it.
 */
export async function descend(
  {
    root,
    boundary,
    entersLinks,
  }: { readonly root: string; readonly boundary: string; readonly entersLinks: boolean },
  key: string,
): Promise<Directory | undefined> {
  if (problemOf(key) !== undefined) return undefined;
  let directory = rootOf(root);
  for (const name of key.split('/')) {
    const stat = await fs.promises.lstat(path.join(directory.realPath, name)).catch((error: unknown) => {
      if (!hasErrno(error, 'ENOENT', 'ENOTDIR', 'ENAMETOOLONG')) throw error;
    });
    let target: LinkTarget;
    if (stat?.isDirectory() === true) target = below(directory, name);
    else if (stat?.isSymbolicLink() === true && entersLinks) target = await follow(boundary, directory, name);
    if (target === undefined || !('directory' in target)) return undefined;
    ({ directory } = target);
  }
  return directory;
}
