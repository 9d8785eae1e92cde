/** Gates that wait for a decision: repeating the call before that opens no second item. */
import { createMutex } from '../mutex.ts'

export type OpenGates = {
  /** The call whose undecided item covers this one; null: none. */
  find(tool: string, argumentsHash: string): Promise<string | null>
  /** Checking and opening are atomic: parallel calls take turns here. */
  inTurn<T>(run: () => Promise<T>): Promise<T>
}

export const openGates = (find: OpenGates['find']): OpenGates => ({ find, inTurn: createMutex() })
