/** Fifty messages during downtime: the next process answers all of them, in order and once. */
import { randomUUID } from 'node:crypto'
import { RUN_ALL } from '@cairn/protocol/test/sample'
import { expect, test } from 'vitest'
import { KINDS, makeBench, ORG } from '../bench.ts'
import { expectSound, isOver } from './sound.ts'
import { meet } from './stage.ts'
import { ways } from './stages.ts'

const SAID = Array.from({ length: 50 }, (_, at) => `m${at + 1}`)
/** Excludes the website, whose visitors wait for each answer; on_unknown `hold` makes no difference here. */
const bringing = ways.filter(({ way }) => way !== 'website' && !way.endsWith('hold'))
const kinds = RUN_ALL ? KINDS : (['sqlite'] as const)
/** One of each kind: called, polled, a mailbox, a gateway. */
const SAMPLE = ['webhook', 'Telegram, long poll', 'a mailbox', 'Discord']

const tried = bringing.filter(({ way }) => RUN_ALL || SAMPLE.includes(way))

/** Promise 15.3: Fifty messages sent during downtime are answered once and in order after the restart. */
test.each(tried.flatMap(each => kinds.map(kind => ({ ...each, kind }))))(
  '$way: fifty messages sent during downtime are answered after the restart, on $kind',
  async ({ open, kind }) => {
    const stage = await open()
    const { settings, env, person } = stage
    const config = { disclosure: { level: 'basic' } } as const
    const bench = await makeBench(kind, {}, config, { only: { talk: settings }, env })
    const { store, start, users } = bench
    await meet(bench, stage)
    const first = await start()
    const [connection] = await store.channels.listConnections(ORG)
    await first.stop()
    // An unknown sender may not send this many messages.
    await store.channels.putIdentity({
      id: randomUUID(),
      org_id: ORG,
      platform: settings.platform,
      user_id: users.ann,
      workspace: person.workspace ?? connection!.id,
      platform_user_id: person.platform_user_id,
    })
    for (const text of SAID) await stage.say(text)
    const channels = await start()
    await expect
      .poll(
        async () => {
          await stage.bring(channels)
          return isOver(bench, stage, SAID)
        },
        { timeout: 120_000 },
      )
      .toBe(true)
    await expectSound(bench, stage, SAID, await stage.shown(channels))
    await channels.stop()
    await stage.close()
  },
)
