/** A process that runs no connection still knows the secrets of the page, so its turns log none of them. */
import { randomUUID } from 'node:crypto'
import { followPageSecrets } from '@cairn/channels'
import { changeConnection, createConnection, createSealing } from '@cairn/sessions'
import { expect, onTestFinished, test } from 'vitest'
import { KINDS, makeBench, ORG } from './bench.ts'

const whsec = (byte: number): string => `whsec_${Buffer.alloc(32, byte).toString('base64')}`
const SOON = { timeout: 10_000 }

/** Promise 11.5: Every runner redacts secrets entered on the page, even if it runs no channel. */
test.each(KINDS)('on %s a worker learns existing and new secrets entered on the page', async kind => {
  const { store, sealing, users, callback } = await makeBench(kind, {}, {}, { only: {} })
  const deps = { store, newId: randomUUID, sealing, agents: ['greeter'], urlProblem: () => null }
  const settings = { platform: 'webhook', callback_url: callback.url, access: 'open', agent: 'greeter' }
  const make = (name: string, secret: string) =>
    createConnection(deps, { org_id: ORG, id: users.root }, { name, settings, secrets: { secret } })
  const follow = async (own = sealing) => {
    const known: string[] = []
    const told: string[] = []
    const stop = await followPageSecrets({
      store,
      sealing: own,
      org_id: ORG,
      learnSecrets: more => void known.push(...more),
      report: (_level, line) => void told.push(line),
    })
    onTestFinished(stop)
    return { known, told }
  }
  const first = await make('one', whsec(1))
  await store.channels.disableConnection(first)
  const { known, told } = await follow()
  expect(known).toEqual([whsec(1)])
  const second = await make('two', whsec(2))
  await expect.poll(() => known, SOON).toEqual([whsec(1), whsec(2)])
  const row = await store.channels.getConnection(second)
  await changeConnection(deps, row!, { secrets: { secret: whsec(3) } })
  await expect.poll(() => known, SOON).toEqual([whsec(1), whsec(2), whsec(3)])
  expect(told).toEqual([])

  const other = await follow(createSealing({ file: `${process.cwd()}/none`, key: 'A'.repeat(43) + '=' }))
  expect(other.known).toEqual([])
  expect(other.told).toEqual([
    expect.stringMatching(/cannot decrypt the secrets of channel one: .*encrypted with a different key/),
    expect.stringContaining('cannot decrypt the secrets of channel two'),
  ])
})
