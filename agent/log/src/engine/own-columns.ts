/** Rows as this code knows them: a newer program may have added columns to the table. */

/** Returns a function that copies a row with these columns only. The compiler names a missing one. */
export function ownColumns<T extends object>(columns: Record<keyof T, true>): (row: T) => T {
  const names = Object.keys(columns) as (keyof T)[]
  return row => Object.fromEntries(names.map(name => [name, row[name]])) as T
}
