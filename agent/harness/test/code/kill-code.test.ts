/** A run of a coding agent whose runner dies at every commit has one result, and repeats no action. */
import { oneIn } from '@cairn/protocol/test/sample'
import { respondInbox } from '@cairn/sessions'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { alice, setStage } from '../turn/stage.ts'
import { type Death, deathsOf, withDeath } from '../turn/with-death.ts'
import { scriptedAgent } from './scripted-agent.ts'

const run = (death: Death) =>
  withDeath(
    {
      async set(store) {
        const coder = scriptedAgent()
        const stage = await setStage({
          scenario: { rules: [{ answer: { text: 'never asked' } }] },
          agent: { governance: { require_approval: ['code.execute'] } },
          config: { code: { approval_wait_s: 0.02 } },
          store,
          codingAgents: coder,
        })
        return { stage, coder }
      },
      async play({ stage }) {
        await stage.send('/code say one \ntool Look\nask execute a\nsay two')
        // An approval covers one call. If the runner dies in between, the outcome of the call is unknown, and
        // the same call asks for approval again.
        const over = stage.next('session.complete').then(() => 'over' as const)
        for (let asked = 1; ; asked += 1) {
          const came = await Promise.race([over, stage.next('inbox.governance_gate', asked)])
          if (came === 'over') return
          for (const item of (await stage.store.inbox.list({ org_id: 'org', limit: 10 })).items)
            if (item.status === 'pending')
              await respondInbox(stage.deps, item.id, { decision: 'approve' }, alice)
        }
      },
      look: ({ coder }) => ({
        did: coder.did,
        live: coder.live(),
        violations: [...coder.violations()],
        started: coder.started(),
      }),
    },
    death,
  )
const undisturbed = await run(null)

test('without a death, the run ends', () => {
  expect(checkHistory(undisturbed.events, { settled: true })).toEqual([])
  expect(undisturbed.seen).toMatchObject({ did: ['did a'], live: 0, violations: [] })
})

/** Promise 14.18: A coding run whose runner dies has one result, and its agent repeats no action. */
test.each(oneIn(9, deathsOf(undisturbed.commits)))(
  'killed just $when commit $nth, the run has one result and the agent repeats nothing',
  async death => {
    const { events, problems, seen } = await run(death)
    expect(checkHistory(events, { settled: true })).toEqual([])
    expect(problems).toEqual([])
    const results = events.filter(event => event.type === 'code.run_result')
    expect(results).toHaveLength(1)
    expect(events.filter(event => event.type === 'code.run_started')).toHaveLength(1)
    expect(seen.did.length).toBeLessThanOrEqual(1)
    if (results[0]?.type === 'code.run_result' && results[0].data.error === null)
      expect(seen.did).toEqual(['did a'])
    expect(seen.live).toBe(0)
    expect(seen.violations).toEqual([])
  },
)
