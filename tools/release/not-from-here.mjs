// npm runs this before `npm publish` of a package where it is: its manifest is for this repository alone.
console.error('Nothing is published from here: npm run pack, and npm run release:publish (CONTRIBUTING.md).');
process.exitCode = 1;
