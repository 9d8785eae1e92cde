/** Skills that the user accepted, in addition to those of the deployment, which come first. */
import type { LogStore, SessionRow } from '@cairn/log'
import { listProposals } from '@cairn/sessions'
import type { Skill, SkillCatalogue } from '../skills/catalogue.ts'

export async function withLearnedSkills(
  catalogue: SkillCatalogue,
  store: LogStore,
  session: SessionRow,
): Promise<SkillCatalogue> {
  const skills = new Map<string, Skill>(catalogue.skills)
  for (const { name, description, body, decision } of await listProposals(store, session)) {
    if (decision === 'approve' && !skills.has(name))
      skills.set(name, { name, description, body, directory: '', files: [] })
  }
  return { ...catalogue, skills }
}
