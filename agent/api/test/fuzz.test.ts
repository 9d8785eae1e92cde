/** Contract 11: no input causes an internal error, and the server stays up. */
import { ROUTES, type Route, type RouteName } from '@cairn/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { startService } from './service.ts'

const routes = (Object.keys(ROUTES) as RouteName[])
  .map(name => ROUTES[name] as Route)
  .filter(route => route.stream !== true)
const segment = fc.oneof(
  fc.string({ maxLength: 20 }).map(encodeURIComponent),
  fc.constantFrom(
    '..',
    '%2e%2e',
    '%00',
    '%',
    '__proto__',
    'constructor',
    '0',
    '-1',
    '1',
    '9'.repeat(30),
    'a'.repeat(300),
  ),
)
const value = fc.letrec(tie => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.string({ unit: 'binary' }),
    fc.double(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('any'), { maxLength: 4 }),
    fc.dictionary(
      fc.oneof(
        fc.constantFrom(
          'content',
          'title',
          'agent',
          'config',
          'events',
          'type',
          'rating',
          'decision',
          'email',
          'password',
          'link_token',
          'refresh_token',
          'name',
          'responses',
          '__proto__',
          'metadata',
        ),
        fc.string({ maxLength: 8 }),
      ),
      tie('any'),
      { maxKeys: 5 },
    ),
  ),
})).any
const body = fc.oneof(
  value.map(given => JSON.stringify(given)),
  fc.string({ maxLength: 60 }),
)
const query = fc
  .array(
    fc.tuple(
      fc.constantFrom(
        'after',
        'limit',
        'cursor',
        'status',
        'kind',
        'path',
        'session_id',
        'type',
        '__proto__',
      ),
      segment,
    ),
    { maxLength: 4 },
  )
  .map(pairs => pairs.map(pair => pair.join('=')).join('&'))
const headerText = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map(code => String.fromCharCode(code)),
  minLength: 1,
  maxLength: 40,
})
const headers = fc.dictionary(
  fc.constantFrom(
    'x-request-id',
    'last-event-id',
    'idempotency-key',
    'cookie',
    'origin',
    'x-cairn-csrf',
    'x-forwarded-proto',
    'if-none-match',
    'accept',
  ),
  headerText,
  { maxKeys: 4 },
)

/** Promise 4.4: No client input causes a 500. */
test('no body, header, path or cursor causes a 500', async () => {
  await using service = await startService()
  const session = await service.newSession()
  await service.say(session, 'hello')
  const account = await service.addServiceAccount({ scope: 'org' })
  const faults: string[] = []
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...routes),
      fc.array(segment, { minLength: 3, maxLength: 3 }),
      fc.constantFrom('/v1', '/v1/api'),
      query,
      body,
      headers,
      fc.constantFrom(service.adminToken, account.token, null),
      fc.boolean(),
      async (route, segments, prefix, search, raw, extra, token, isOurs) => {
        let at = 0
        const path = route.path.replace(/\{(\w+)\}/g, (_, key: string) =>
          isOurs && key === 'id' ? session : segments[at++] || 'x',
        )
        // The administrator must not lock themselves out, and passwords cost a tenth of a second each.
        if (route.path === '/auth/logout' || route.path === '/auth/login' || route.path === '/auth/password')
          return
        const { status, json } = await service.call(`${prefix}${path}?${search}`, {
          method: route.method,
          token,
          headers: { ...(route.method === 'GET' ? {} : { 'content-type': 'application/json' }), ...extra },
          ...(route.method === 'GET' ? {} : { raw }),
        })
        // This service has no browser and reports that.
        if (json?.code === 'browser_unavailable') return
        if (status >= 500 || status < 200)
          faults.push(
            `${route.method} ${prefix}${path}?${search} ${JSON.stringify(extra)} ${raw} answered ${status}`,
          )
      },
    ),
    { numRuns: 700, seed: 20261121 },
  )
  expect(faults).toEqual([])
  expect(service.logged.filter(({ level }) => level === 'error')).toEqual([])
  expect((await service.call('/healthz')).status).toBe(200)
})

test('no path of the site causes a 500 or leaves its root', async () => {
  await using service = await startService({ webRoot: import.meta.dirname })
  await fc.assert(
    fc.asyncProperty(fc.array(segment, { maxLength: 5 }), async segments => {
      const { status, text } = await service.call(`/${segments.join('/')}`)
      expect(status).not.toBe(500)
      expect(text).not.toContain('"@cairn/api"')
    }),
    { numRuns: 200, seed: 5 },
  )
  for (const path of [
    '/../package.json',
    '/..%2fpackage.json',
    '/%2e%2e/package.json',
    '/....//package.json',
    '/assets/..%2f..%2fpackage.json',
    '/..\\package.json',
  ]) {
    expect([path, (await service.call(path)).status]).toEqual([path, 404])
  }
})
