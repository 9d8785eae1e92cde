/**
 * The database's own clock, read within the statement: processes cannot disagree, whatever their clocks say.
 */
export const DATABASE_NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'
/** Null except in tests, which set the time. */
export const at = (parameter: string): string => `coalesce(${parameter}::bigint, ${DATABASE_NOW})`
