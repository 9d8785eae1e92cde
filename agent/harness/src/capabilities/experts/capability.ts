/** Experts as a row of the capabilities: one tool, for an agent that lists experts. */
import type { Capability } from '../../turn/capability.ts'
import { type ExpertToolDeps, expertTools } from './consult-expert.ts'

export const experts = (deps: Omit<ExpertToolDeps, 'setup' | 'tools'>): Capability => ({
  name: 'experts',
  tools: (setup, given) => expertTools({ ...deps, setup, tools: given }),
})
