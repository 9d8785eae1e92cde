import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { describeSkills, readSkills, stageSkill } from './catalogue.ts'
import { expandSkill, parseSkillFile } from './skill-file.ts'

const REVIEW =
  '---\nname: review\ndescription: Reviews a change.\nlicense: MIT\ncustom: kept\n---\nLook at ' +
  '$ARGUMENTS closely.\n'
let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'skills-'))
})
afterEach(async () => {
  await rm(root, { recursive: true })
})
const put = async (path: string, text: string) => {
  await mkdir(join(root, path, '..'), { recursive: true })
  await writeFile(join(root, path), text)
}

test('a skill has a name, a description and a body, and other frontmatter keys are ignored', () => {
  expect(parseSkillFile(REVIEW, 'review')).toEqual({
    name: 'review',
    description: 'Reviews a change.',
    body: 'Look at $ARGUMENTS closely.',
  })
  expect(parseSkillFile(REVIEW.replaceAll('\n', '\r\n'), 'review').name).toBe('review')
})

test.each([
  ['no frontmatter at all', 'just text', /must begin with a YAML frontmatter/],
  ['a name with spaces', '---\nname: My Skill\ndescription: d\n---\n', /name: lower-case letters/],
  ['no description', '---\nname: review\n---\n', /description/],
  ['broken YAML', '---\nname: [review\n---\n', /is not valid YAML/],
  [
    'another name than its directory',
    '---\nname: other\ndescription: d\n---\n',
    /named other, its directory review/,
  ],
])('rejects %s with a message', (_what, text, message) => {
  expect(() => parseSkillFile(text, 'review')).toThrow(message)
})

test('puts arguments where the body has a placeholder, or else after the body', () => {
  const skill = parseSkillFile(REVIEW, 'review')
  expect(expandSkill(skill, 'src/$&.ts', null)).toBe('Look at src/$&.ts closely.')
  expect(expandSkill({ ...skill, body: 'Look.' }, 'x', null)).toBe('Look.\n\nArguments: x')
  expect(expandSkill({ ...skill, body: 'Look.' }, '', '.cairn/skills/review')).toBe(
    'Look.\n\nThe files of this skill are in .cairn/skills/review.',
  )
})

test('omits and names a broken skill and keeps the others', async () => {
  await put('review/SKILL.md', REVIEW)
  await put('broken/SKILL.md', 'nothing')
  await put('empty/notes.md', 'no skill file')
  const catalogue = await readSkills(root)
  expect([...catalogue.skills.keys()]).toEqual(['review'])
  expect(catalogue.problems.map(problem => problem.split(':')[0])).toEqual([
    'skill broken is left out',
    'skill empty is left out',
  ])
  expect(describeSkills(catalogue)).toContain('- review: Reviews a change.')
})

test('stages supporting files into the workspace repeatedly, and nothing for a skill without any', async () => {
  await put('review/SKILL.md', REVIEW)
  await put('review/scripts/run.sh', 'echo hi')
  await put('plain/SKILL.md', REVIEW.replace('review', 'plain'))
  const { skills } = await readSkills(root)
  const workspace = join(root, 'workspace')
  await mkdir(workspace)
  for (let i = 0; i < 2; i++)
    expect(await stageSkill(skills.get('review')!, workspace)).toBe('.cairn/skills/review')
  expect(await readFile(join(workspace, '.cairn/skills/review/scripts/run.sh'), 'utf8')).toBe('echo hi')
  expect(await stageSkill(skills.get('plain')!, workspace)).toBeNull()
})

test.each(['.cairn', '.cairn/skills', '.cairn/skills/review'])(
  'writes no files through a link that the agent left at %s',
  async link => {
    await put('review/SKILL.md', REVIEW)
    await put('review/run.sh', 'echo hi')
    await put('workspace/.keep', '')
    const outside = await mkdtemp(join(tmpdir(), 'outside-'))
    const workspace = join(root, 'workspace')
    await mkdir(join(workspace, link, '..'), { recursive: true })
    await symlink(outside, join(workspace, link))
    await stageSkill((await readSkills(root)).skills.get('review')!, workspace)
    expect(await readdir(outside)).toEqual([])
    expect(await readFile(join(workspace, '.cairn/skills/review/run.sh'), 'utf8')).toBe('echo hi')
    await rm(outside, { recursive: true })
  },
)
