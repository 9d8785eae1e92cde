/**
 * Test servers that behave like the model servers of others.
 *
 * profile    one kind of server: what it refuses, and the form of its answers
 * zoo        all profiles behind one port
 */
export type { Check } from './profile.ts'
export { ZOO, ZOO_NAMES, type ZooName } from './profiles.ts'
export { startZoo, type ZooServer } from './server.ts'
