/**
 * SKILL.md, the open Agent Skills format: YAML frontmatter (name, description, and more) and a body of
 * instructions, in a directory that may contain supporting files. Unknown frontmatter keys are accepted,
 * because the format grows.
 */
import { parse } from 'yaml'
import { z } from 'zod'

export const Frontmatter = z.looseObject({
  name: z
    .string()
    .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'lower-case letters, digits and single hyphens')
    .max(64),
  description: z.string().trim().min(1).max(1024),
  license: z.string().optional(),
  compatibility: z.string().max(500).optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  'allowed-tools': z.union([z.string(), z.array(z.string())]).optional(),
})
export type SkillFile = { name: string; description: string; body: string }

/** Throws a sentence with the problem and the fix; `directory` is the name that the skill must have. */
export function parseSkillFile(text: string, directory: string): SkillFile {
  const match = /^\uFEFF?---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)([\s\S]*)$/.exec(text)
  if (!match) throw new Error('SKILL.md must begin with a YAML frontmatter between two lines of three dashes')
  let yaml: unknown
  try {
    yaml = parse(match[1]!)
  } catch (error) {
    throw new Error(
      'the frontmatter of SKILL.md is not valid YAML: ' +
        `${error instanceof Error ? error.message.split('\n')[0] : String(error)}`,
      { cause: error },
    )
  }
  const frontmatter = Frontmatter.safeParse(yaml)
  if (!frontmatter.success) {
    const [issue] = frontmatter.error.issues
    throw new Error(
      `the frontmatter of SKILL.md: ${issue?.path.join('.') || 'the whole'}: ` +
        `${issue?.message ?? 'is invalid'}`,
    )
  }
  const { name, description } = frontmatter.data
  if (name !== directory)
    throw new Error(`the skill is named ${name}, its directory ${directory}; they must be the same`)
  return { name, description, body: match[2]!.trim() }
}

/**
 * What the model reads instead of `/<skill> <arguments>`. The arguments replace `$ARGUMENTS` in the body, or
 * follow it.
 */
export function expandSkill(skill: SkillFile, args: string, stagedAt: string | null): string {
  const placed = skill.body.includes('$ARGUMENTS')
    ? skill.body.replaceAll('$ARGUMENTS', () => args)
    : args === ''
      ? skill.body
      : `${skill.body}\n\nArguments: ${args}`
  return stagedAt === null ? placed : `${placed}\n\nThe files of this skill are in ${stagedAt}.`
}
