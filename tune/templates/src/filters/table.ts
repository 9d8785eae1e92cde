/** All filters by name. */
import type { Filter } from './define.ts'
import { SELECTION_FILTERS } from './selection.ts'
import { SEQUENCE_FILTERS } from './sequences.ts'
import { TEXT_FILTERS } from './text.ts'
import { VALUE_FILTERS } from './values.ts'

export const FILTERS: ReadonlyMap<string, Filter> = new Map([
  ...TEXT_FILTERS,
  ...SEQUENCE_FILTERS,
  ...SELECTION_FILTERS,
  ...VALUE_FILTERS,
])
