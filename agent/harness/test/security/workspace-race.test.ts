/**
 * A command of the agent replaces folders of the workspace by links to the outside while every tool works in
 * it. Nothing outside may be read, listed, changed or created.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rounds, tally } from '@cairn/protocol/test/attacks'
import { startSwapper, SWAPPER_PLACES } from '@cairn/workspace/test/swapper'
import { keepTrying, setTrap } from '@cairn/workspace/test/trap'
import { copyFolder } from '@cairn/workspace'
import { expect, test } from 'vitest'
import { readSkills, stageSkill } from '../../src/capabilities/skills/catalogue.ts'
import { restoreCheckpoint, saveCheckpoint } from '../../src/tools/checkpoint.ts'
import { createArtifactTool } from '../../src/tools/create-artifact.ts'
import { fitResult } from '../../src/tools/cut-result.ts'
import { editFileTool } from '../../src/tools/edit-file.ts'
import { listFilesTool } from '../../src/tools/list-files.ts'
import { readFileTool } from '../../src/tools/read-file.ts'
import { searchFilesTool } from '../../src/tools/search-files.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { writeFileTool } from '../../src/tools/write-file.ts'
import { makeContext, runParsed } from '../tools/tool-context.ts'

/** The contents of the files below a folder, without following links (which `recursive` of readdir does). */
const textsBelow = (folder: string): string =>
  readdirSync(folder, { withFileTypes: true })
    .map(entry => {
      const path = join(folder, entry.name)
      return entry.isDirectory() ? textsBelow(path) : entry.isFile() ? readFileSync(path, 'latin1') : ''
    })
    .join('\n')

const artifactTool = createArtifactTool({ artifacts: { list: () => Promise.resolve([]) } }, () => 'id')

/**
 * Promise 7: A command that swaps folders for links lets no tool read or change anything outside the
 * workspace.
 */
test.each(SWAPPER_PLACES)(
  'a command %s that swaps folders for links makes no tool read, list, change or create anything outside',
  { timeout: rounds(120_000, 300_000) },
  async (where, boxed) => {
    using trap = setTrap()
    const { base, workspace } = trap
    const context = makeContext({ workspace })
    const use = (tool: Tool, args: Record<string, unknown>) => runParsed(tool, args, context)
    const checkpoints = join(base, 'checkpoints')
    const touched = ['d/key.txt', 'd/doomed.txt', 'deep/a/b/key.txt', 'f.txt']
    const kept = await saveCheckpoint(checkpoints, workspace, touched)
    mkdirSync(join(base, 'skills/tool/sub'), { recursive: true })
    for (const [name, text] of [
      ['SKILL.md', '---\nname: tool\ndescription: d\n---\nbody'],
      ['key.txt', 'staged'],
      ['sub/x.txt', 'staged'],
    ] as const)
      writeFileSync(join(base, 'skills/tool', name), text)
    const skill = (await readSkills(join(base, 'skills'))).skills.get('tool')!
    const long = 'y'.repeat(60_000)
    const swapper = startSwapper({ workspace, pairs: trap.pairs, boxed })
    const { tried, leaks, refused } = await keepTrying(
      trap,
      {
        'read_file below': () => use(readFileTool, { path: 'd/key.txt' }),
        'read_file deep': () => use(readFileTool, { path: 'deep/a/b/sub/x.txt' }),
        read_file: () => use(readFileTool, { path: 'f.txt' }),
        'write_file below': n => use(writeFileTool, { path: 'd/key.txt', content: `needle ${n}` }),
        'write_file new': n => use(writeFileTool, { path: `d/new-${n % 50}/x.txt`, content: 'new' }),
        'write_file deep': () => use(writeFileTool, { path: 'deep/a/b/key.txt', content: 'needle' }),
        write_file: () => use(writeFileTool, { path: 'f.txt', content: 'needle' }),
        edit_file: () =>
          use(editFileTool, { path: 'd/sub/x.txt', old_string: 'e', new_string: 'E', replace_all: true }),
        list_files: () => use(listFilesTool, {}),
        'list_files below': () => use(listFilesTool, { path: 'deep/a/b' }),
        search_files: () => use(searchFilesTool(), { pattern: 'needle' }),
        'search_files below': () => use(searchFilesTool(), { pattern: 'needle', path: 'd' }),
        create_artifact: async () => {
          const spec = { kind: 'image', path: 'd/only-outside.png' }
          const made = await use(artifactTool, { name: 'picture', spec })
          return trap.leaks(JSON.stringify(made)) ? made : `98765 is there: ${JSON.stringify(made)}`
        },
        'checkpoint save': () => saveCheckpoint(checkpoints, workspace, touched),
        'checkpoint restore': () => restoreCheckpoint(checkpoints, workspace, kept),
        'cut result': n => fitResult(workspace, `call-${n % 20}`, long),
        'skill staged': () => stageSkill(skill, workspace),
        backup: async n => {
          const copy = join(base, `copy-${n}`)
          await copyFolder(workspace, copy)
          const copied = textsBelow(copy)
          rmSync(copy, { recursive: true })
          return copied
        },
      },
      { ms: rounds(1500, 60_000), tries: rounds(0, 20_000) },
    )
    await swapper.stop()
    const stolen = trap.leaks(textsBelow(checkpoints)) ? ['a checkpoint holds a canary'] : []
    const damage = trap.damage()
    const unexpected = leaks.length + stolen.length + (damage === null ? 0 : 1)
    tally(`tools against a folder swapped for a link, ${where}`, tried, unexpected)
    expect([...leaks.slice(0, 5), ...stolen, ...(damage === null ? [] : [damage])]).toEqual([])
    // The folders really were swapped under the tools, and still existed part of the time.
    expect(refused).toBeGreaterThan(0)
    expect(refused).toBeLessThan(tried)
  },
)
