/**
 * A workspace is copied for a worker while an agent's command swaps folders and files in it for links to the
 * outside. The copy contains nothing from outside, and nothing outside changes.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rounds, tally } from '@cairn/protocol/test/attacks'
import { expect, test } from 'vitest'
import { type CopiedFile, changedFiles, copyWorkspace } from '../../src/index.ts'
import { startSwapper, SWAPPER_PLACES } from '../swapper.ts'
import { keepTrying, setTrap } from '../trap.ts'

/** The content of the files below a folder, without following links. */
const textsBelow = (folder: string): string =>
  readdirSync(folder, { withFileTypes: true })
    .map(entry => {
      const path = join(folder, entry.name)
      return entry.isDirectory()
        ? textsBelow(path)
        : entry.isFile()
          ? readFileSync(path, 'latin1')
          : entry.name
    })
    .join('\n')

const OPTIONS = { max_bytes: 2 ** 30, max_files: 10_000, skip: [], keep_bytes: 2 ** 20 }

/**
 * Promise 14.4: A copy contains nothing from outside the workspace, even if a command swaps files for links.
 */
test.each(SWAPPER_PLACES)(
  'a command %s that swaps folders and files for links gets nothing outside into a copy or its list of changes',
  { timeout: rounds(120_000, 300_000) },
  async (where, boxed) => {
    using trap = setTrap()
    const swapper = startSwapper({ workspace: trap.workspace, pairs: trap.pairs, boxed })
    const { signal } = new AbortController()
    const { tried, leaks } = await keepTrying(
      trap,
      {
        copyWorkspace: async nth => {
          const target = join(trap.base, `copy-${nth}`)
          const told: unknown[] = []
          try {
            await copyWorkspace(trap.workspace, target, {
              ...OPTIONS,
              signal,
              onFile: async (path, file, content) => void told.push(path, file, content?.toString('latin1')),
            })
            return [told, textsBelow(target)]
          } finally {
            rmSync(target, { recursive: true, force: true })
          }
        },
        changedFiles: () => changedFiles(trap.workspace, {} as Record<string, CopiedFile>, []),
      },
      { ms: rounds(700, 30_000), tries: rounds(30, 2_000) },
    )
    await swapper.stop()
    const damage = trap.damage()
    tally(
      `copies of a workspace against swapped links, ${where}`,
      tried,
      leaks.length + (damage === null ? 0 : 1),
    )
    expect(leaks).toEqual([])
    expect(damage).toBeNull()
  },
)

test('a copy skips links that become files while their folder is copied', async () => {
  using trap = setTrap()
  const folder = join(trap.workspace, 'changing')
  mkdirSync(folder)
  for (let at = 0; at < 40; at += 1)
    if (at % 2 === 0) writeFileSync(join(folder, `file-${at}`), 'kept')
    else symlinkSync('nowhere', join(folder, `link-${at}`))
  const target = join(trap.base, 'copy')
  let isReplaced = false
  await copyWorkspace(trap.workspace, target, {
    ...OPTIONS,
    signal: new AbortController().signal,
    onFile(path) {
      if (isReplaced || !path.startsWith('changing/')) return Promise.resolve()
      isReplaced = true
      for (const name of readdirSync(folder).filter(each => each.startsWith('link-'))) {
        rmSync(join(folder, name))
        writeFileSync(join(folder, name), 'was a link')
      }
      return Promise.resolve()
    },
  })
  const copied = readdirSync(join(target, 'changing'))
  expect(copied.filter(name => name.startsWith('file-'))).toHaveLength(20)
  expect(copied.length).toBeLessThan(40)
})
