import fs from 'node:fs';
import path from 'node:path';
import type { MarkdownEnv, MarkdownRenderer } from 'vitepress';
import { placeOf, PRIVATE } from './pages.js';
import { REPOSITORY } from './repository.js';

const root = path.join(import.meta.dirname, '../..');

/**
 * Links of documents say where a file is in the repository, so that they work there. On the site, one to a
 * document leads to its page, and one to any other file to the repository's address. One to a file that is
 * not there fails the build.
 */
export function repositoryLinks(md: MarkdownRenderer): void {
  md.core.ruler.push('repository-links', ({ tokens, env }) => {
    const { realPath, path: file } = env as MarkdownEnv;
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.attrGet('href');
      if (token.type !== 'link_open' || href === null || /^([a-z]+:|[#/])/.test(href)) continue;
      token.attrSet('href', addressOf(href, realPath ?? file));
    }
  });
}

function addressOf(href: string, document: string): string {
  const { 1: target = '', 2: hash = '' } = /^([^#]*)(#.*)?$/.exec(href) ?? [];
  const file = path.join(path.dirname(document), decodeURI(target));
  const name = path.relative(root, file);
  // A page of the repository's own, as it is reached from a document on GitHub (`blob/main/`).
  if (name.startsWith('../../')) return `${REPOSITORY}/${name.slice('../../'.length)}`;
  const isDirectory = fs.statSync(file, { throwIfNoEntry: false })?.isDirectory();
  if (isDirectory === undefined)
    throw new Error(`${path.relative(root, document)}: there is no ${name}, which a link leads to.`);
  const page = isDirectory ? path.join(name, 'README.md') : name;
  if (isPage(page)) return `/${placeOf(page)}${hash}`;
  return `${REPOSITORY}/${isDirectory ? 'tree' : 'blob'}/main/${name}${hash}`;
}

function isPage(document: string): boolean {
  return (
    document.endsWith('.md') && !document.startsWith(PRIVATE) && fs.existsSync(path.join(root, document))
  );
}
