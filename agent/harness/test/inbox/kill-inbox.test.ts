/**
 * A session that writes check-ins and asks for an action, killed at every commit of the runner, ends the same
 * way and creates no item twice.
 */
import { oneIn } from '@cairn/protocol/test/sample'
import { respondInbox } from '@cairn/sessions'
import { checkHistory } from '@cairn/verify'
import { expect, test } from 'vitest'
import { essence } from '../golden/essence.ts'
import { compareGolden } from '../golden/golden-file.ts'
import { alice, call, say, setStage } from '../turn/stage.ts'
import { deathsOf, type Death, withDeath } from '../turn/with-death.ts'

const act = {
  tool_calls: [
    {
      name: 'request_user_action',
      arguments: { title: 'Log in', instructions: 'Log in at the desk.', reason: 'only you have the key' },
    },
  ],
}
const scenario = {
  rules: [
    { when: { user: 'says that this is done' }, steps: [call('note', 'after'), say('All is done.')] },
    { steps: [call('note', 'before'), call('look', 'there'), act] },
  ],
}
const agent = { inbox: { checkin_iterations: 2, task_complete_minutes: 0 } }

const run = (death: Death) =>
  withDeath(
    {
      set: async store => ({ stage: await setStage({ scenario, agent, store }) }),
      async play({ stage }) {
        await stage.send('go')
        const asked = await stage.next('inbox.action_required')
        const [item] = (await stage.store.inbox.list({ org_id: 'org', kind: ['action_required'], limit: 10 }))
          .items
        expect(item?.source_event_id).toBe(asked.id)
        await respondInbox(stage.deps, item!.id, { completed: true }, alice)
        await stage.next('inbox.task_complete')
      },
      async look({ stage }) {
        const { items } = await stage.store.inbox.list({ org_id: 'org', limit: 50 })
        return {
          ran: stage.ran.filter(value => value.startsWith('note:')),
          items: items.map(({ kind, status, decision }) => `${kind} ${status} ${decision}`).toReversed(),
        }
      },
    },
    death,
  )
const undisturbed = await run(null)

test('the session with announcements matches the golden log of this version byte for byte', () => {
  expect(checkHistory(undisturbed.events, { settled: true })).toEqual([])
  const { golden, now } = compareGolden('inbox', undisturbed.events)
  expect(now).toBe(golden)
  expect(undisturbed.seen).toEqual({
    ran: ['note:before', 'note:after'],
    items: [
      'progress_checkin expired superseded',
      'action_required responded completed',
      'progress_checkin expired superseded',
      'task_complete pending null',
    ],
  })
})

/** Promise 10: No inbox item is created twice, wherever the runner dies. */
test.each(oneIn(4, deathsOf(undisturbed.commits)))(
  'the session with announcements, killed just $when commit $nth, ends the same way with the same items',
  async death => {
    const { events, problems, seen } = await run(death)
    expect(checkHistory(events, { settled: true })).toEqual([])
    expect(problems).toEqual([])
    expect(essence(events)).toEqual(essence(undisturbed.events))
    expect(seen.items).toEqual(undisturbed.seen.items)
    expect(new Set(seen.ran).size).toBe(seen.ran.length)
  },
)
