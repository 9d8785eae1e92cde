/** Skills as a row of the capabilities: listed for the model, and loaded by it. */
import type { Capability } from '../../turn/capability.ts'
import { type SkillCatalogue, describeSkills } from './catalogue.ts'
import { loadSkillTool, LOAD_SKILL } from './load-skill.ts'
import type { AgentSetup } from '../../governance/agent.ts'
import { isOffered } from '../../governance/decide.ts'

export const skills = (catalogue: SkillCatalogue): Capability => ({
  name: 'skills',
  setUp: setup => Promise.resolve(setUpSkills(setup, catalogue)),
  tools: () => (catalogue.skills.size === 0 ? [] : [loadSkillTool(catalogue)]),
})

/** The system prompt with the list of skills, if the agent may load them. */
function setUpSkills(setup: AgentSetup, skills: SkillCatalogue): AgentSetup {
  const described = isOffered(LOAD_SKILL, { policy: setup.agent.governance, agentTools: setup.agent.tools })
    ? describeSkills(skills)
    : null
  return described === null ? setup : { ...setup, system: `${setup.system}\n\n${described}` }
}
