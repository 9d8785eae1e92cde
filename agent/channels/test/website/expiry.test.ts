/**
 * A visitor expires after thirty days; the process that runs the connection deletes them
 * (docs/decisions/0047).
 */
import { expect, test } from 'vitest'
import { hashToken, VISITOR_TTL_MS } from '../../src/website/visitor.ts'
import { makeBench, ORG } from '../bench.ts'
import { SITE, visit } from './visit.ts'

/** Promise 15.7: An expired visitor is deleted. */
test('an expired visitor is deleted together with the hash of their token', async () => {
  const site = { platform: 'website' as const, origins: [SITE], access: 'open' as const, agent: 'greeter' }
  const { store, start, advance } = await makeBench('sqlite', {}, {}, { only: { site } })
  const first = await start()
  const [connection] = await store.channels.listConnections(ORG)
  const { cookie } = await visit(first, { key: `cairn_wk_${connection!.id}` })
  const token_sha256 = hashToken(cookie?.split('=')[1] ?? '')
  const found = await store.channels.visitor(connection!.id, token_sha256)
  expect(found).not.toBeNull()
  await first.stop()
  advance(VISITOR_TTL_MS + 1)
  await start()
  // An existing row would keep its expiry.
  await expect
    .poll(async () => {
      await store.channels.putVisitor({ ...found!, expires_at: found!.expires_at + VISITOR_TTL_MS })
      return store.channels.visitor(connection!.id, token_sha256)
    })
    .not.toBeNull()
})
