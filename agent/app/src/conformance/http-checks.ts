/**
 * Keys, refusals, principals and listings, over HTTP (contract 3, 4, 5
 * to 6).
 */
import { randomUUID } from 'node:crypto'
import type { Check } from './log-checks.ts'
import { expectEqual, expectProblem, expectTrue, NotChecked, type Probe } from './probe.ts'

const messagesOf = async (probe: Probe, id: string): Promise<unknown[]> => {
  const { json } = await probe.call(`/v1/sessions/${id}/events/poll?limit=1000`)
  return (json['events'] as { type: string }[]).filter(({ type }) => type === 'user.message')
}
const post = (probe: Probe, path: string, body: unknown, headers: Record<string, string> = {}) =>
  probe.call(path, { method: 'POST', body, headers })

export const HTTP_CHECKS: readonly Check[] = [
  {
    name: 'an Idempotency-Key has one effect, whoever repeats it and however often',
    async run(probe) {
      const id = await probe.quietSession()
      const path = `/v1/sessions/${id}/messages`
      const key = { 'idempotency-key': randomUUID() }
      const first = await post(probe, path, { content: 'once' }, key)
      const again = await post(probe, path, { content: 'once' }, key)
      expectEqual(
        'the repetition',
        [again.status, again.text, again.headers.get('idempotency-replayed')],
        [202, first.text, 'true'],
      )
      expectProblem(
        'the key with another body',
        await post(probe, path, { content: 'other' }, key),
        422,
        'idempotency_mismatch',
      )
      const shared = { 'idempotency-key': randomUUID() }
      const many = await Promise.all(
        Array.from({ length: 10 }, () => post(probe, path, { content: 'at once' }, shared)),
      )
      expectTrue(
        `ten at once are 202 or 409, not ${many.map(({ status }) => status).join(', ')}`,
        many.every(({ status }) => status === 202 || status === 409),
      )
      expectEqual(
        'different answers to one key',
        new Set(many.filter(({ status }) => status === 202).map(({ text }) => text)).size,
        1,
      )
      expectEqual('messages in the log', (await messagesOf(probe, id)).length, 2)
      expectProblem(
        'a key that is none',
        await post(probe, path, { content: 'x' }, { 'idempotency-key': 'x'.repeat(201) }),
        400,
        'bad_request',
      )
      return '13 requests, 2 messages'
    },
  },
  {
    name: 'refusals are problem documents with the status and code that were promised',
    async run(probe) {
      const id = await probe.quietSession()
      const path = `/v1/sessions/${id}`
      const nobody = await probe.call(path, { token: null })
      expectProblem('no token', nobody, 401, 'unauthenticated')
      expectEqual('www-authenticate', nobody.headers.get('www-authenticate'), 'Bearer')
      expectProblem(
        'a token that is none',
        await probe.call(path, { token: 'nonsense' }),
        401,
        'unauthenticated',
      )
      expectProblem('an unknown session', await probe.call(`/v1/sessions/${randomUUID()}`), 404, 'not_found')
      expectProblem('an unknown route', await probe.call('/v1/nowhere'), 404, 'not_found')
      const wrongMethod = await probe.call(`${path}/messages`, { method: 'PATCH', body: {} })
      expectProblem('a wrong method', wrongMethod, 405, 'method_not_allowed')
      expectTrue(
        `allow names POST, not ${wrongMethod.headers.get('allow')}`,
        wrongMethod.headers.get('allow')?.includes('POST') === true,
      )
      expectProblem(
        'pausing what is paused',
        await post(probe, `${path}/pause`, undefined),
        409,
        'wrong_state',
      )
      const invalid = await post(probe, `${path}/messages`, { contents: 'misspelt' })
      expectProblem('a body that does not fit', invalid, 422, 'invalid_body')
      expectTrue(
        'it names the field',
        Array.isArray(invalid.json['errors']) && invalid.json['errors'].length > 0,
      )
      expectProblem(
        'a body that is not JSON',
        await probe.call(`${path}/messages`, { method: 'POST', raw: '{"content":' }),
        400,
        'bad_request',
      )
      expectProblem(
        'a body of another type',
        await probe.call(`${path}/messages`, {
          method: 'POST',
          raw: 'x',
          headers: { 'content-type': 'text/plain' },
        }),
        415,
        'unsupported_media_type',
      )
      expectProblem(
        'an event that nobody may post',
        await post(probe, `${path}/events`, { events: [{ type: 'tool.call' }] }),
        422,
        'invalid_body',
      )
      expectProblem(
        'an unknown agent',
        await post(probe, '/v1/sessions', { agent: `nobody-${randomUUID()}` }),
        422,
        'unknown_agent',
      )
      return '11 refusals'
    },
  },
  {
    name: 'every answer has a request id, the caller’s own where there is one',
    async run(probe) {
      const { headers } = await probe.call('/v1/auth/me', { headers: { 'x-request-id': 'conformance-1' } })
      expectEqual('x-request-id', headers.get('x-request-id'), 'conformance-1')
      expectTrue(
        'one is made where none came',
        (await probe.call('/healthz', { token: null })).headers.get('x-request-id') !== '',
      )
      return 'both ways'
    },
  },
  {
    name: 'a listing pages through every session once, newest first',
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
        'the sessions just made, in the order of the listing',
        found.filter(id => made.includes(id)),
        made,
      )
      expectEqual('none twice', new Set(found).size, found.length)
      expectProblem('a cursor of nobody', await probe.call('/v1/sessions?cursor=!'), 400, 'invalid_cursor')
      return `5 sessions over ${pages} pages`
    },
  },
  {
    name: 'pause, resume and archive move a session as promised',
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
    name:
      'a service account streams its own sessions below /v1/api, polls nothing, and ends when it is ' +
      'revoked',
    async run(probe) {
      const made = await post(probe, '/v1/admin/service-accounts', {
        name: `conformance ${randomUUID().slice(0, 8)}`,
      })
      if (made.status === 403) throw new NotChecked('the token is not an administrator’s')
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
          'a session of somebody else',
          await probe.call(`/v1/api/sessions/${theirs}`, { token }),
          404,
          'not_found',
        )
        expectProblem(
          'an administrator’s route',
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
        'after it was revoked',
        await probe.call('/v1/api/sessions', { token }),
        401,
        'unauthenticated',
      )
      return '9 requests'
    },
  },
  {
    name: 'the OpenAPI document describes the routes',
    async run(probe) {
      const { status, json } = await probe.call('/openapi.json', { token: null })
      expectEqual('GET /openapi.json', status, 200)
      expectTrue(`openapi is 3.1, not ${String(json['openapi'])}`, String(json['openapi']).startsWith('3.1'))
      const paths = Object.keys(json['paths'] as object)
      for (const path of [
        '/v1/sessions',
        '/v1/sessions/{id}/events',
        '/v1/api/sessions/{id}/events',
        '/v1/sessions/{id}/events/poll',
      ])
        expectTrue(`it has ${path}`, paths.includes(path))
      expectTrue('it has no poll below /v1/api', !paths.includes('/v1/api/sessions/{id}/events/poll'))
      return `${paths.length} paths`
    },
  },
]
