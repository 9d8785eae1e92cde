/** Gates that wait for a decision: a call that is made again meanwhile opens no second item. */
import { createMutex } from '../mutex.ts'

export type OpenGates = {
  /** The call whose undecided item covers this one, or null. */
  find(tool: string, argumentsHash: string): Promise<string | null>
  /** Looking and opening are one: calls that run side by side take turns here. */
  inTurn<T>(run: () => Promise<T>): Promise<T>
}

export const openGates = (find: OpenGates['find']): OpenGates => ({ find, inTurn: createMutex() })
