/**
 * A tree is removed while an agent's command swaps folders in it for links to the outside. Nothing outside is
 * removed.
 */
import { existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { rounds, tally } from '@cairn/protocol/test/attacks'
import { removeTree } from '../../src/index.ts'
import { startSwapper, SWAPPER_PLACES } from '../swapper.ts'
import { keepTrying, setTrap } from '../trap.ts'

test.each(SWAPPER_PLACES)(
  'a command %s that swaps folders for links causes no removal outside its workspace',
  { timeout: rounds(120_000, 300_000) },
  async (where, boxed) => {
    using trap = setTrap()
    const victim = join(trap.workspace, 'victim')
    // Out of the swapper's reach: otherwise the test itself would write through a swapped link.
    const planted = join(trap.base, 'planted')
    const plant = (): void => {
      if (existsSync(victim)) return // A swap interrupted the last removal. The next one continues it.
      mkdirSync(join(planted, 'deep/d/sub'), { recursive: true })
      for (const name of ['key.txt', 'doomed.txt', 'sub/x.txt'])
        writeFileSync(join(planted, 'deep/d', name), '')
      symlinkSync(join(trap.base, 'outside'), join(planted, 'deep/link'))
      symlinkSync(join(trap.base, 'outside'), join(planted, 'link'))
      renameSync(planted, victim)
    }
    const swapper = startSwapper({
      workspace: trap.workspace,
      pairs: [
        ['victim/deep/d', 'victim/deep/link'],
        ['victim/deep', 'victim/link'],
      ],
      boxed,
    })
    const { tried } = await keepTrying(
      trap,
      {
        removeTree: async () => {
          plant()
          await removeTree(trap.workspace, 'victim')
        },
      },
      { ms: rounds(500, 30_000), tries: rounds(20, 1_000) },
    )
    await swapper.stop()
    const damage = trap.damage()
    tally(`removal against a folder swapped for a link, ${where}`, tried, damage === null ? 0 : 1)
    expect(damage).toBeNull()
  },
)
