import Database from 'libsql';

// Begins to write into the file of a registry, and never ends.
const database = new Database(process.argv[2] ?? '');
database.exec('BEGIN IMMEDIATE');
database.exec('DELETE FROM members');
process.on('disconnect', () => process.exit());
process.send?.('holds');
