/** The message for a store whose keys do not begin with the organisation. */
export const olderNumbering = (found: number, known: number): string =>
  `[migrate] the store has version ${found} of the older numbering of schemas, this program has version ` +
  `${known} of the present one and cannot read that store: start the program that wrote it, or use an ` +
  'empty data directory or schema'
