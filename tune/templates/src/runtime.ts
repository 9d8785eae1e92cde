/** What functions, filters and tests may use while a template runs. */
import type { Budget } from './budget.ts'
import type { Arguments, Value } from './values.ts'

export type Runtime = {
  budget: Budget
  /** The time of `strftime_now`. */
  now: () => Date
  /** `object.name`. */
  attribute: (object: Value, name: string) => Value
  callFilter: (name: string, value: Value, args: Arguments) => Value
  callTest: (name: string, value: Value, args: Arguments) => boolean
}
