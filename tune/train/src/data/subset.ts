/** Subsets that a description of a data set lists. */
import type { ColumnMap } from './shape-reader.ts'

/** A subset of a data set by its files, which may be grouped by split. */
export type Subset = {
  name: string
  isDefault: boolean
  /** Files by split; undefined if the names of the files decide. */
  splits: ReadonlyMap<string, readonly string[]> | undefined
  files: readonly string[]
  columns: ColumnMap
}
