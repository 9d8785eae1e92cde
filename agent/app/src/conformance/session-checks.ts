/** Lists, states and access control, over HTTP (contract 4 to 6). */
import { randomUUID } from 'node:crypto'
import { expectEqual, expectProblem, NotChecked } from './expectations.ts'
import { type Check, post } from './probe.ts'

export const SESSION_CHECKS: readonly Check[] = [
  {
    name: 'pages of sessions list each session once, newest first',
    async run(probe) {
      const made: string[] = []
      for (let n = 0; n < 5; n++) made.unshift(await probe.quietSession())
      const found: string[] = []
      let pages = 0
      for (
        let cursor: string | null = '';
        cursor !== null && pages < 20 && !made.every(id => found.includes(id));
        pages++
      ) {
        const { status, json } = await probe.call(
          `/v1/sessions?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`,
        )
        expectEqual('a page', status, 200)
        found.push(...(json['sessions'] as { id: string }[]).map(({ id }) => id))
        cursor = json['next_cursor'] as string | null
      }
      expectEqual(
        'the new sessions, in the order of the list',
        found.filter(id => made.includes(id)),
        made,
      )
      expectEqual('number of distinct sessions', new Set(found).size, found.length)
      expectProblem('an invalid cursor', await probe.call('/v1/sessions?cursor=!'), 400, 'invalid_cursor')
      return `5 sessions over ${pages} pages`
    },
  },
  {
    name: 'pause, resume and archive change the status of a session',
    async run(probe) {
      const id = await probe.quietSession()
      const status = async (): Promise<unknown> => (await probe.call(`/v1/sessions/${id}`)).json['status']
      expectEqual('paused', await status(), 'paused')
      expectEqual('resumed', (await post(probe, `/v1/sessions/${id}/resume`, undefined)).status, 200)
      expectEqual('archived', (await probe.call(`/v1/sessions/${id}`, { method: 'DELETE' })).status, 204)
      expectEqual('its status', await status(), 'archived')
      expectProblem(
        'a message to an archived session',
        await post(probe, `/v1/sessions/${id}/messages`, { content: 'x' }),
        409,
        'wrong_state',
      )
      return '4 states'
    },
  },
  {
    name: 'a service account streams only its own sessions below /v1/api, until it is revoked',
    async run(probe) {
      const made = await post(probe, '/v1/admin/service-accounts', {
        name: `conformance ${randomUUID().slice(0, 8)}`,
      })
      if (made.status === 403) throw new NotChecked('the token does not belong to an administrator')
      expectEqual('creating a service account', made.status, 201)
      const token = String(made.json['token'])
      const account = String(made.json['id'])
      try {
        const theirs = await probe.quietSession()
        const session = await probe.call('/v1/api/sessions', { method: 'POST', body: {}, token })
        expectEqual('creating a session', session.status, 201)
        const own = String(session.json['id'])
        expectEqual(
          'pausing it',
          (await probe.call(`/v1/api/sessions/${own}/pause`, { method: 'POST', token })).status,
          200,
        )
        const { status, text } = await probe.stream(
          `/v1/api/sessions/${own}/events`,
          soFar => soFar.includes('session.pause'),
          { token },
        )
        expectEqual('its stream', [status, text.includes('event: session.pause')], [200, true])
        expectProblem(
          'poll',
          await probe.call(`/v1/sessions/${own}/events/poll`, { token }),
          403,
          'user_token_required',
        )
        expectProblem(
          'poll has no alias',
          await probe.call(`/v1/api/sessions/${own}/events/poll`, { token }),
          404,
          'not_found',
        )
        expectProblem(
          'outside /v1/api',
          await probe.call(`/v1/sessions/${own}`, { token }),
          403,
          'service_account_route',
        )
        expectProblem(
          'a session of another user',
          await probe.call(`/v1/api/sessions/${theirs}`, { token }),
          404,
          'not_found',
        )
        expectProblem(
          'a route for administrators',
          await probe.call('/v1/admin/users', { token }),
          403,
          'service_account_route',
        )
      } finally {
        expectEqual(
          'revoking it',
          (await probe.call(`/v1/admin/service-accounts/${account}`, { method: 'DELETE' })).status,
          204,
        )
      }
      expectProblem(
        'a request after the token was revoked',
        await probe.call('/v1/api/sessions', { token }),
        401,
        'unauthenticated',
      )
      return '9 requests'
    },
  },
]
