/** Contract 4: the OpenAPI document is generated from the contract and contains all of it. */
import { EVENT_TYPES, EVENTS, ROUTES, type Route, type RouteName } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { openapiDocument, openapiText } from '../src/index.ts'
import { startService } from './service.ts'

const document = openapiDocument()
type Any = Record<string, unknown>

function* walk(value: unknown, at = '#'): Generator<[string, Any]> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield [at, value as Any]
  for (const [key, inner] of Object.entries(value))
    yield* walk(inner, `${at}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
}

test('every route is in the document below /v1 and, if it has an alias, below /v1/api', () => {
  const expected = (Object.keys(ROUTES) as RouteName[]).flatMap(name => {
    const route: Route = ROUTES[name]
    return (route.alias ? ['/v1', '/v1/api'] : ['/v1']).map(
      prefix => `${route.method} ${prefix}${route.path}`,
    )
  })
  const found = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map(method => `${method.toUpperCase()} ${path}`),
  )
  expect(found.toSorted()).toEqual(expected.toSorted())
  expect(found).not.toContain('GET /v1/api/sessions/{id}/events/poll')
})

test('every event type has a record schema with its documented keys, and EventRecord lists them all', () => {
  for (const type of EVENT_TYPES) {
    const record = document.components.schemas[`event.${type}`]
    expect(record?.properties?.['type']).toEqual({ const: type })
    const data = record?.properties?.['data']
    const keys = [
      ...Object.keys(data?.properties ?? {}),
      ...(data?.anyOf ?? []).flatMap(part => Object.keys(part.properties ?? {})),
    ]
    expect(new Set(keys)).toEqual(new Set([...EVENTS[type].keys, ...EVENTS[type].extra]))
  }
  expect(document.components.schemas['EventRecord']?.oneOf).toHaveLength(EVENT_TYPES.length)
})

test('every reference resolves, operation ids are unique, and path parameters are declared', () => {
  const text = JSON.parse(openapiText()) as Any
  const operationIds: unknown[] = []
  for (const [at, value] of walk(text)) {
    if (typeof value['$ref'] === 'string') {
      const target = value['$ref']
        .slice(2)
        .split('/')
        .reduce<unknown>(
          (found, key) => (found as Any | undefined)?.[key.replaceAll('~1', '/').replaceAll('~0', '~')],
          text,
        )
      expect([at, value['$ref'], typeof target]).toEqual([at, value['$ref'], 'object'])
    }
    if ('operationId' in value) {
      operationIds.push(value['operationId'])
      const path = at.split('/')[2]?.replaceAll('~1', '/') ?? ''
      const declared = ((value['parameters'] ?? []) as Any[])
        .filter(parameter => parameter['in'] === 'path')
        .map(({ name }) => name)
      expect(declared).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(match => match[1]))
      expect(Object.keys(value['responses'] as Any).length).toBeGreaterThan(1)
    }
    expect(value).not.toHaveProperty('$defs')
  }
  expect(new Set(operationIds).size).toBe(operationIds.length)
})

test('the document is served, and the script-free reference page names every route and event type', async () => {
  await using service = await startService()
  const served = await service.call('/openapi.json', { token: null })
  expect([served.status, served.text]).toEqual([200, openapiText()])
  const page = await service.call('/docs', { token: null })
  expect(page.status).toBe(200)
  expect(page.headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; style-src 'sha256-[^']+'; /,
  )
  expect(page.text).not.toMatch(/<script|\son\w+=|https?:\/\//)
  for (const name of Object.keys(ROUTES)) expect(page.text).toContain(`id="${name}"`)
  for (const type of EVENT_TYPES) expect(page.text).toContain(`<code>${type}</code>`)
  const anchors = new Set([...page.text.matchAll(/ id="([^"]+)"/g)].map(match => match[1]))
  expect(
    [...page.text.matchAll(/href="#([^"]+)"/g)].map(match => match[1]).filter(anchor => !anchors.has(anchor)),
  ).toEqual([])
})
