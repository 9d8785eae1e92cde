/** The system prompt with the list of skills, if the agent may load them. */
import type { AgentSetup } from '../../governance/agent.ts'
import { isOffered } from '../../governance/decide.ts'
import { describeSkills, type SkillCatalogue } from './catalogue.ts'
import { LOAD_SKILL } from './load-skill.ts'

export function setUpSkills(setup: AgentSetup, skills: SkillCatalogue): AgentSetup {
  const described = isOffered(LOAD_SKILL, { policy: setup.agent.governance, agentTools: setup.agent.tools })
    ? describeSkills(skills)
    : null
  return described === null ? setup : { ...setup, system: `${setup.system}\n\n${described}` }
}
