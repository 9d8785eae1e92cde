/**
 * The part of the contract without schemas: names, event facts, errors. A thread that validates nothing
 * imports this module and loads a tenth of the code, which saves start time and memory.
 */
export * from './stated-facts.ts'
export * from './errors.ts'
export * from './session-words.ts'
export * from './mission-words.ts'
export { deciderKeys } from './decider-keys.ts'
