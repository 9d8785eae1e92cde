/**
 * The skills of a deployment: one directory each below the configured one. An unreadable skill is left out
 * and logged.
 */
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { asError } from '@cairn/protocol'
import { putFolder, RESERVED_DIR } from '@cairn/workspace'
import type { Logger } from '@cairn/models/logger'
import { type SkillFile, parseSkillFile } from './skill-file.ts'

export type Skill = SkillFile & {
  directory: string
  /** Names of the files besides SKILL.md, sorted. */
  files: readonly string[]
}
export type SkillCatalogue = { skills: ReadonlyMap<string, Skill>; problems: readonly string[] }

export const NO_SKILLS: SkillCatalogue = { skills: new Map(), problems: [] }

/** The skills of a directory, and others whose names it does not have. */
export const withSkills = (
  { skills, problems }: SkillCatalogue,
  others: ReadonlyMap<string, Skill> = new Map(),
): SkillCatalogue => ({ skills: new Map([...others, ...skills]), problems })

/** Read for every claim: skills may be added and changed while the service runs. */
export async function rereadSkills(root: string | undefined, report: Logger): Promise<SkillCatalogue> {
  if (root === undefined) return NO_SKILLS
  try {
    return await readSkills(root)
  } catch (error) {
    report('warn', 'failed to read the skills; the turn continues without them', {
      error: asError(error).message,
    })
    return NO_SKILLS
  }
}

export async function readSkills(root: string): Promise<SkillCatalogue> {
  const skills = new Map<string, Skill>()
  const problems: string[] = []
  const entries = (await readdir(root, { withFileTypes: true }))
    .filter(entry => entry.isDirectory())
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  for (const { name } of entries) {
    const directory = join(root, name)
    try {
      const skill = parseSkillFile(await readFile(join(directory, 'SKILL.md'), 'utf8'), name)
      const files = (await readdir(directory)).filter(file => file !== 'SKILL.md').toSorted()
      skills.set(name, { ...skill, directory, files })
    } catch (error) {
      problems.push(`skill ${name} is left out: ${asError(error).message}`)
    }
  }
  return { skills, problems }
}

/** The list of skills for the model: names and descriptions only; the bodies are loaded on request. */
export function describeSkills({ skills }: SkillCatalogue): string | null {
  if (skills.size === 0) return null
  return [
    'Skills you may load with load_skill when one fits the task:',
    ...[...skills.values()].map(skill => `- ${skill.name}: ${skill.description}`),
  ].join('\n')
}

/**
 * Copies the supporting files into the workspace and returns their workspace path as the model sees it; null
 * if the skill has none. Repeating it after a crash gives the same files.
 */
export async function stageSkill(skill: Skill, workspace: string): Promise<string | null> {
  if (skill.files.length === 0) return null
  const names = [RESERVED_DIR, 'skills', skill.name]
  await putFolder(workspace, names, skill.directory, skill.files)
  return names.join('/')
}
