/** The time in SQL. */

/**
 * The database's own clock, read in the statement that needs it: no process can have another time, whatever
 * is made of its clock.
 */
export const DATABASE_NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'
/** Null outside of tests, which turn the time by hand. */
export const at = (parameter: string): string => `coalesce(${parameter}::bigint, ${DATABASE_NOW})`
