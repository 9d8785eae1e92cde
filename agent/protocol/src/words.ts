/**
 * The part of the contract without schemas: names, event facts, errors. A thread that validates nothing
 * imports this module and loads a tenth of the code, which saves start time and memory.
 */
export * from './events/stated-facts.ts'
export * from './errors/errors.ts'
export * from './enums/sessions.ts'
export * from './enums/missions.ts'
export { deciderKeys } from './resources/decider-keys.ts'
