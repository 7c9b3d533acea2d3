import path from 'node:path';
import { Converter, ReflectionKind } from 'typedoc';
import { PACKAGES } from './entries.js';
import { REPOSITORY } from './repository.js';

const root = path.join(import.meta.dirname, '../..');
const entries = PACKAGES.flatMap((manifest) => manifest.entries);

/** Pages are named by what a program imports, and not by the file that this is made from. */
function namedAsImported(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.getReflectionsByKind(ReflectionKind.Module)) {
      const file = path.relative(root, module.sources[0].fullFileName);
      module.name = entries.find((entry) => entry.file === file).specifier;
    }
  });
}

/** Writes the reference as Markdown into docs/reference, where VitePress finds it. */
export default {
  name: 'Reference',
  // In this order, and not by name.
  sortEntryPoints: false,
  entryPoints: entries.map(({ file }) => path.join(root, file)),
  tsconfig: path.join(import.meta.dirname, 'tsconfig.reference.json'),
  // `npm run types` checks the same files.
  skipErrorChecking: true,
  plugin: ['typedoc-plugin-markdown', namedAsImported],
  out: path.join(root, 'docs/reference'),

  // What programs cannot reach, or what others document.
  excludeInternal: true,
  excludePrivate: true,
  excludeExternals: true,

  treatWarningsAsErrors: true,
  validation: { notExported: true, invalidLink: true, invalidPath: true, notDocumented: true },
  packagesRequiringDocumentation: PACKAGES.map(({ name }) => name),
  // Interfaces that name the part of OpenDAL that is used; its own documentation says what these do.
  intentionallyNotDocumented: [
    ...['Entry.metadata', 'Entry.path', 'Lister.next', 'Metadata.isDirectory'],
    ...['capability', 'delete', 'lister', 'read', 'stat', 'write'].map((name) => `Operator.${name}`),
  ].map((name) => `@tiered/opendal-adapter.OpenDal${name}`),
  // Properties are not: of most, name and type say all there is.
  requiredToBeDocumented: [
    'Enum',
    'Variable',
    'Function',
    'Class',
    'Interface',
    'Method',
    'Accessor',
    'TypeAlias',
  ],

  readme: 'none',
  disableGit: true,
  basePath: root,
  sourceLinkTemplate: `${REPOSITORY}/blob/main/packages/{path}#L{line}`,
  gitRevision: 'main',

  // A page for each entry and each class, with tables where there are many small things.
  router: 'member',
  membersWithOwnFile: ['Class'],
  entryFileName: 'index',
  hidePageHeader: true,
  hideBreadcrumbs: true,
  useCodeBlocks: true,
  // Links go to anchors of its own: `PlacementRead` and `Placement.read` have the same one as headings.
  useHTMLAnchors: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  classPropertiesFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  typeDeclarationFormat: 'table',
  enumMembersFormat: 'table',
  indexFormat: 'table',
  tableColumnSettings: { hideModifiers: true, hideSources: true, hideInherited: true, hideOverrides: true },
};
