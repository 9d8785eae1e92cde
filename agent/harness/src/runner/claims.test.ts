import type { Claim, ClaimRules } from '@cairn/log'
import { Config } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { createClaims, createRuns } from './claims.ts'

/** The part of a claim that a run reads. */
const claimOf = (id: string, parent_id: string | null): Claim => ({
  session: { id, parent_id } as Claim['session'],
  fence: { worker_id: 'w', epoch: 1 },
  abandoned_s: null,
  link: null,
})

test('a runner claims only as many children as their share of its free turns, and at least one', async () => {
  const asked: [number, ClaimRules | undefined][] = []
  const queue = [[claimOf('child', 'root'), claimOf('root', null)], [], []]
  const forever = Promise.withResolvers<void>()
  const start = (limits: Partial<Config['limits']>) =>
    createClaims({
      store: {
        leases: {
          claim(_, limit, __, rules) {
            asked.push([limit, rules])
            return Promise.resolve(queue.shift() ?? [])
          },
        },
      },
      runnerId: 'w',
      limits: { ...Config.parse({}).limits, ...limits },
      maxRuns: 3,
      ttlMs: 1000,
      logger: () => undefined,
      runs: createRuns(() => forever.promise, { enter: () => Promise.resolve(() => undefined) }),
    })
  const claims = start({ concurrent_turns: 8, child_share: 0.5, tree_parallel: 3, principal_turns: 5 })
  claims.poll()
  await claims.polling()
  claims.poll()
  await claims.polling()
  expect(asked).toEqual([
    [8, { tree_parallel: 3, principal_turns: 5, principal_runs: 3, children: 4 }],
    [6, { tree_parallel: 3, principal_turns: 5, principal_runs: 3, children: 3 }],
  ])
  const small = start({ concurrent_turns: 1, child_share: 0.5 })
  small.poll()
  await small.polling()
  expect(asked[2]).toEqual([1, { tree_parallel: 8, principal_turns: null, principal_runs: 3, children: 1 }])
})
