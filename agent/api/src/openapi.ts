/**
 * The OpenAPI 3.1 document, generated from the contract, so that routes, errors and event types have no
 * second copy. What a schema cannot express (who may call, that unknown query parameters are ignored) is in
 * the descriptions.
 */
import {
  ERRORS,
  EVENT_TYPES,
  EVENTS,
  type EventType,
  familyOf,
  isWritten,
  InboxItem,
  Problem,
  type Route,
  type RouteName,
  ROUTES,
  Session,
} from '@cairn/protocol'
import { z } from 'zod'
import type { JsonSchema, OpenApi, Operation, Parameter, Response } from './openapi-document.ts'
import { mayBeAbsent } from './http/read-body.ts'
import { errorsOf } from './route-errors.ts'

const REF = '#/components/schemas/'

/** JSON Schemas of zod schemas; named ones become components. */
function createSchemas(): { components: Record<string, JsonSchema>; of: (schema: z.ZodType) => JsonSchema } {
  const components: Record<string, JsonSchema> = {}
  return {
    components,
    of(schema) {
      // Input mode, so that objects stay open: defaults may be omitted in requests, and answers may get new
      // keys.
      const {
        $schema: _dialect,
        $defs,
        ...root
      } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema
      for (const [name, definition] of Object.entries($defs ?? {})) components[name] ??= tidy(definition)
      return tidy(root)
    },
  }
}

/** Rewrites references to point to the components, and drops bounds that only say "a safe integer". */
function tidy<T>(value: T): T {
  if (Array.isArray(value)) return value.map(tidy) as T
  if (typeof value !== 'object' || value === null) return value
  const out: Record<string, unknown> = {}
  for (const [key, inner] of Object.entries(value)) {
    if ((key === 'maximum' || key === 'minimum') && Math.abs(inner as number) === Number.MAX_SAFE_INTEGER)
      continue
    out[key] = key === '$ref' ? String(inner).replace('#/$defs/', REF) : tidy(inner)
  }
  return out as T
}

/** Component name of an event type. */
export const recordName = (type: EventType): string => `event.${type}`

const UNWRITTEN = ' This version never emits it.'

function eventSchemas(of: (schema: z.ZodType) => JsonSchema): Record<string, JsonSchema> {
  const records: Record<string, JsonSchema> = {}
  for (const type of EVENT_TYPES) {
    const { when, read } = EVENTS[type]
    records[recordName(type)] = {
      type: 'object',
      title: type,
      description: `${when} (${familyOf(type)})${isWritten(type) ? '' : UNWRITTEN}`,
      required: ['id', 'session_id', 'type', 'created_at', 'data'],
      properties: {
        id: { type: 'integer', exclusiveMinimum: 0, description: 'cursor' },
        session_id: { type: 'string' },
        type: { const: type },
        created_at: { type: 'string', format: 'date-time' },
        data: of(read),
      },
    }
  }
  const mapping = Object.fromEntries(EVENT_TYPES.map(type => [type, REF + recordName(type)]))
  records['EventRecord'] = {
    description:
      'One event of a session log. New types and new keys may appear at any time: read the keys you need.',
    oneOf: Object.values(mapping).map($ref => ({ $ref })),
    discriminator: { propertyName: 'type', mapping },
  }
  return records
}

const ACCESS: Record<Route['access'], string> = {
  public: 'No credential is needed.',
  any: 'A user token, or below /v1/api a service account token.',
  user: 'A user token.',
  admin: 'A user token of an administrator.',
}
const SECURITY: Record<Route['access'], (viaApi: boolean) => Record<string, string[]>[]> = {
  public: () => [],
  any: viaApi =>
    viaApi
      ? [{ userToken: [] }, { serviceAccount: [] }, { cookie: [] }]
      : [{ userToken: [] }, { cookie: [] }],
  user: () => [{ userToken: [] }, { cookie: [] }],
  admin: () => [{ userToken: [] }, { cookie: [] }],
}

/** Groups operations by the first segment of the path. */
const tagOf = ({ path }: Route): string => path.split('/')[1] ?? ''

function operation(name: RouteName, viaApi: boolean, of: (schema: z.ZodType) => JsonSchema): Operation {
  const route: Route = ROUTES[name]
  const parameters: Parameter[] = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, key]) => ({
    name: key as string,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const query = route.query === undefined ? {} : (of(route.query).properties ?? {})
  for (const [key, schema] of Object.entries(query))
    parameters.push({ name: key, in: 'query', required: false, schema })
  if (name === 'streamEvents')
    parameters.push({
      name: 'Last-Event-ID',
      in: 'header',
      required: false,
      description: 'the cursor if `after` is absent',
      schema: { type: 'string' },
    })
  if (route.creates)
    parameters.push({
      name: 'Idempotency-Key',
      in: 'header',
      required: false,
      description: 'makes retries safe for 24 hours',
      schema: { type: 'string', maxLength: 200 },
    })
  const success: Response = { description: route.summary }
  if (route.stream)
    success.content = {
      'text/event-stream': {
        schema: {
          type: 'string',
          description:
            name === 'streamEvents'
              ? 'frames `id`, `event`, `data`; data is one EventRecord'
              : 'frames `snapshot` ({items}) and `item`',
        },
      },
    }
  else if (route.answer) success.content = { 'application/json': { schema: of(route.answer) } }
  const statuses = [...new Set(errorsOf(name).map(code => ERRORS[code].status))].toSorted((a, b) => a - b)
  return {
    operationId: viaApi ? `${name}ViaApi` : name,
    summary: route.summary,
    tags: [tagOf(route)],
    security: SECURITY[route.access](viaApi),
    description:
      `${ACCESS[route.access]} Unknown query parameters are ` +
      `ignored.${route.creates ? ' Honours Idempotency-Key.' : ''}`,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body
      ? {
          requestBody: {
            required: !mayBeAbsent(route.body),
            content: { 'application/json': { schema: of(route.body) } },
          },
        }
      : {}),
    responses: {
      [route.status]: success,
      ...Object.fromEntries(statuses.map(status => [status, { $ref: `#/components/responses/${status}` }])),
    },
  }
}

/** One response per status, which names its error codes. */
function problemResponses(): Record<string, Response> {
  const responses: Record<string, Response> = {}
  for (const status of new Set(Object.values(ERRORS).map(error => error.status))) {
    const codes = Object.entries(ERRORS).filter(([, error]) => error.status === status)
    responses[status] = {
      description: codes.map(([code, { title }]) => `\`${code}\`: ${title}.`).join(' '),
      content: { 'application/problem+json': { schema: { $ref: `${REF}Problem` } } },
      ...(status === 429
        ? { headers: { 'Retry-After': { description: 'seconds', schema: { type: 'integer' } } } }
        : {}),
      ...(status === 401
        ? { headers: { 'WWW-Authenticate': { description: 'Bearer', schema: { type: 'string' } } } }
        : {}),
    }
  }
  return responses
}

let made: OpenApi | null = null

/** The document, identical for every server of this version. */
export function openapiDocument(): OpenApi {
  if (made) return made
  const { components, of } = createSchemas()
  const paths: OpenApi['paths'] = {}
  for (const name of Object.keys(ROUTES) as RouteName[]) {
    const route: Route = ROUTES[name]
    for (const viaApi of route.alias ? [false, true] : [false]) {
      const path = `${viaApi ? '/v1/api' : '/v1'}${route.path}`
      paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(name, viaApi, of) }
    }
  }
  of(z.object({ session: Session, item: InboxItem, problem: Problem }))
  Object.assign(components, eventSchemas(of))
  made = {
    openapi: '3.1.0',
    info: {
      title: 'Cairn Agent',
      version: '1',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description:
        'Agent sessions as logs of typed events: send messages, follow the log from a cursor, ' +
        'and approve or reject what needs a human decision.',
    },
    servers: [{ url: '/', description: 'this server' }],
    tags: [...new Set(Object.values(ROUTES).map(tagOf))].map(name => ({ name })),
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(components).toSorted(([a], [b]) => (a < b ? -1 : 1))),
      responses: problemResponses(),
      securitySchemes: {
        userToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'user token' },
        serviceAccount: {
          type: 'http',
          scheme: 'bearer',
          description: 'service account token (cairn_sk_…), below /v1/api/ only',
        },
        cookie: {
          type: 'apiKey',
          in: 'cookie',
          name: 'cairn_session',
          description: 'cookie of the web UI; write requests need the header x-cairn-csrf: 1',
        },
      },
    },
  }
  return made
}

/** The text that `npm run gen` writes to docs/openapi.json. */
export const openapiText = (): string => `${JSON.stringify(openapiDocument(), null, 2)}\n`
