/** The model servers of the zoo by name. */
import { PROGRAMS } from './programs.ts'
import { SERVICES } from './services.ts'

export const ZOO = { ...SERVICES, ...PROGRAMS }

export type ZooName = keyof typeof ZOO
export const ZOO_NAMES = Object.keys(ZOO) as ZooName[]
