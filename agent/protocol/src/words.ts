/**
 * The part of the contract that has no schemas: names, what the rows state, errors. A thread that validates
 * nothing takes it from here, and so loads a tenth of the code: its start and its memory show it.
 */
export * from './stated-facts.ts'
export * from './errors.ts'
export * from './session-words.ts'
export * from './mission-words.ts'
export { deciderKeys } from './decider-keys.ts'
