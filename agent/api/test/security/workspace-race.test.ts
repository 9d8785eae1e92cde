/**
 * A command of the agent replaces folders of the workspace with links to the outside while its user requests
 * files. The routes show nothing outside, with any timing.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { rounds, tally } from '@cairn/protocol/test/attacks'
import { startSwapper, SWAPPER_PLACES } from '@cairn/workspace/test/swapper'
import { keepTrying, setTrap } from '@cairn/workspace/test/trap'
import { startService } from '../service.ts'

/** Promise 4: A command that swaps folders for links gets no outside file through the workspace routes. */
test.each(SWAPPER_PLACES)(
  'a command %s that swaps folders for links gets no outside file or name through the routes',
  { timeout: rounds(120_000, 300_000) },
  async (where, boxed) => {
    await using service = await startService()
    const id = await service.newSession()
    const trap = setTrap(service.dir, join(service.dir, 'workspaces', id))
    const file = async (path: string) =>
      (await service.call(`/v1/sessions/${id}/workspace/file?path=${encodeURIComponent(path)}`)).text
    const tree = async () => (await service.call(`/v1/sessions/${id}/workspace/tree`)).text
    const swapper = startSwapper({ workspace: trap.workspace, pairs: trap.pairs, boxed })
    const { tried, leaks } = await keepTrying(
      trap,
      {
        'file below': () => file('d/key.txt'),
        'file below, again': () => file('d/sub/x.txt'),
        'file deep': () => file('deep/a/b/sub/x.txt'),
        'file of the outside': () => file('deep/a/b/b/key.txt'),
        file: () => file('f.txt'),
        tree,
        'tree, again': tree,
      },
      { ms: rounds(1500, 60_000), tries: rounds(0, 20_000) },
    )
    await swapper.stop()
    const damage = trap.damage()
    const unexpected = leaks.length + (damage === null ? 0 : 1)
    tally(`workspace routes against a folder swapped for a link, ${where}`, tried, unexpected)
    expect([...leaks.slice(0, 5), ...(damage === null ? [] : [damage])]).toEqual([])
  },
)
