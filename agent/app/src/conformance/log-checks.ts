/** Order, pages and cursors of a log, over HTTP (contract 2, 3). */
import { expectEqual, expectProblem } from './expectations.ts'
import { poll, upTo } from './polling.ts'
import type { Check } from './probe.ts'

export const LOG_CHECKS: readonly Check[] = [
  {
    name: 'event ids have no gaps and follow the order of commits under 32 concurrent writers',
    async run(probe) {
      const id = await probe.quietSession()
      const acknowledged = (await Promise.all(Array.from({ length: 32 }, () => probe.say(id, 4)))).flat()
      expectEqual(
        'acknowledged ids',
        acknowledged.toSorted((a, b) => a - b),
        upTo(2, 129),
      )
      const { ids } = await poll(probe, id, 'limit=1000')
      expectEqual('ids of the log', ids, upTo(1, 129))
      return '128 messages of 32 writers'
    },
  },
  {
    name: 'poll pages: each event once, and has_more and last_id mark the end',
    async run(probe) {
      const id = await probe.quietSession()
      await probe.say(id, 24)
      const whole = await poll(probe, id, 'limit=1000')
      const paged: string[] = []
      let pages = 0
      for (let after = 0, more = true; more; pages++) {
        const page = await poll(probe, id, `after=${after}&limit=7`)
        paged.push(...page.records)
        expectEqual('last_id of a page', page.last_id, page.ids.at(-1))
        ;({ last_id: after, has_more: more } = page)
      }
      expectEqual('the pages together', paged, whole.records)
      expectEqual(
        'after the end',
        await poll(probe, id, 'after=25').then(({ ids, has_more, last_id }) => [ids, has_more, last_id]),
        [[], false, 25],
      )
      expectEqual('limit=0 is treated as 1', (await poll(probe, id, 'limit=0')).ids, [1])
      expectEqual('limit=99999 is treated as 1000', (await poll(probe, id, 'limit=99999')).ids.length, 25)
      return `${pages} pages`
    },
  },
  {
    name: 'invalid cursors and limits return 400',
    async run(probe) {
      const id = await probe.quietSession()
      for (const after of ['-1', 'x', '1.5', '%20', '0x1']) {
        expectProblem(
          `poll after=${after}`,
          await probe.call(`/v1/sessions/${id}/events/poll?after=${after}`),
          400,
          'invalid_cursor',
        )
        expectProblem(
          `stream after=${after}`,
          await probe.call(`/v1/sessions/${id}/events?after=${after}`),
          400,
          'invalid_cursor',
        )
      }
      expectProblem(
        'Last-Event-ID: x',
        await probe.call(`/v1/sessions/${id}/events`, { headers: { 'last-event-id': 'x' } }),
        400,
        'invalid_cursor',
      )
      expectProblem(
        'limit=many',
        await probe.call(`/v1/sessions/${id}/events/poll?limit=many`),
        400,
        'bad_request',
      )
      return 'rejected'
    },
  },
]
