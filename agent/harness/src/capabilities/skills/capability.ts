/** Skills as a row of the capabilities: listed for the model, and loaded by it. */
import type { Capability } from '../../turn/capability.ts'
import type { SkillCatalogue } from './catalogue.ts'
import { loadSkillTool } from './load-skill.ts'
import { setUpSkills } from './prompt.ts'

export const skills = (catalogue: SkillCatalogue): Capability => ({
  name: 'skills',
  setUp: setup => Promise.resolve(setUpSkills(setup, catalogue)),
  tools: () => (catalogue.skills.size === 0 ? [] : [loadSkillTool(catalogue)]),
})
