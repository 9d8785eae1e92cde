/** Idempotency keys, errors and common headers, over HTTP (contract 4, 5). */
import { randomUUID } from 'node:crypto'
import { expectEqual, expectProblem, expectTrue } from './expectations.ts'
import { type Check, type Probe, post } from './probe.ts'

const messagesOf = async (probe: Probe, id: string): Promise<unknown[]> => {
  const { json } = await probe.call(`/v1/sessions/${id}/events/poll?limit=1000`)
  return (json['events'] as { type: string }[]).filter(({ type }) => type === 'user.message')
}
export const REQUEST_CHECKS: readonly Check[] = [
  {
    name: 'an Idempotency-Key has one effect, however often it is repeated',
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
        `ten concurrent requests: expected 202 or 409, got ${many.map(({ status }) => status).join(', ')}`,
        many.every(({ status }) => status === 202 || status === 409),
      )
      expectEqual(
        'different answers to one key',
        new Set(many.filter(({ status }) => status === 202).map(({ text }) => text)).size,
        1,
      )
      expectEqual('messages in the log', (await messagesOf(probe, id)).length, 2)
      expectProblem(
        'an invalid key',
        await post(probe, path, { content: 'x' }, { 'idempotency-key': 'x'.repeat(201) }),
        400,
        'bad_request',
      )
      return '13 requests, 2 messages'
    },
  },
  {
    name: 'error responses are problem documents with the documented status and code',
    async run(probe) {
      const id = await probe.quietSession()
      const path = `/v1/sessions/${id}`
      const nobody = await probe.call(path, { token: null })
      expectProblem('no token', nobody, 401, 'unauthenticated')
      expectEqual('www-authenticate', nobody.headers.get('www-authenticate'), 'Bearer')
      expectProblem('an invalid token', await probe.call(path, { token: 'nonsense' }), 401, 'unauthenticated')
      expectProblem('an unknown session', await probe.call(`/v1/sessions/${randomUUID()}`), 404, 'not_found')
      expectProblem('an unknown route', await probe.call('/v1/nowhere'), 404, 'not_found')
      const wrongMethod = await probe.call(`${path}/messages`, { method: 'PATCH', body: {} })
      expectProblem('a wrong method', wrongMethod, 405, 'method_not_allowed')
      expectTrue(
        `Allow header: expected POST, got ${wrongMethod.headers.get('allow')}`,
        wrongMethod.headers.get('allow')?.includes('POST') === true,
      )
      expectProblem(
        'pausing a paused session',
        await post(probe, `${path}/pause`, undefined),
        409,
        'wrong_state',
      )
      const invalid = await post(probe, `${path}/messages`, { contents: 'misspelt' })
      expectProblem('a body that does not match the schema', invalid, 422, 'invalid_body')
      expectTrue(
        'the problem does not name the field',
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
        'an event type that clients may not post',
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
      return '11 error responses'
    },
  },
  {
    name: 'every response has a request id, which a caller can set',
    async run(probe) {
      const { headers } = await probe.call('/v1/auth/me', { headers: { 'x-request-id': 'conformance-1' } })
      expectEqual('x-request-id', headers.get('x-request-id'), 'conformance-1')
      expectTrue(
        'no x-request-id in the response to a request without one',
        (await probe.call('/healthz', { token: null })).headers.get('x-request-id') !== '',
      )
      return 'both ways'
    },
  },
  {
    name: 'the OpenAPI document describes the routes',
    async run(probe) {
      const { status, json } = await probe.call('/openapi.json', { token: null })
      expectEqual('GET /openapi.json', status, 200)
      const version = String(json['openapi'])
      expectTrue(`openapi: expected version 3.1, got ${version}`, version.startsWith('3.1'))
      const paths = Object.keys(json['paths'] as object)
      for (const path of [
        '/v1/sessions',
        '/v1/sessions/{id}/events',
        '/v1/api/sessions/{id}/events',
        '/v1/sessions/{id}/events/poll',
      ])
        expectTrue(`the document does not contain ${path}`, paths.includes(path))
      const alias = '/v1/api/sessions/{id}/events/poll'
      expectTrue(`the document contains ${alias}`, !paths.includes(alias))
      return `${paths.length} paths`
    },
  },
]
