/**
 * The program that the protocol's conformance suite runs as the client: our client as the service uses it,
 * with a person who logs in wherever the client asks for it and agrees to every question. It calls each tool
 * that was listed. `npm run dev -- mcp-conformance` runs the suite, which appends the URL of its server.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, Config, type ConfigInput, type Question } from '@cairn/protocol'
import { createSealing } from '@cairn/sessions'
import { systemClock } from '@cairn/models/clock'
import { createMcpLogins } from '../../src/capabilities/mcp/oauth/logins.ts'
import type { AccountOwner } from '../../src/tools/account-owner.ts'
import { startMcpServers } from '../../src/capabilities/mcp/servers.ts'
import { openSession } from '../../src/capabilities/mcp/session.ts'
import type { AskPerson, Tool } from '../../src/tools/tool.ts'
import { toolJsonSchema } from '../../src/tools/parameters.ts'
import { makeContext } from '../tools/tool-context.ts'
import { memoryAccounts } from './account-store.ts'

const url = process.argv.at(-1)
if (url === undefined) throw new Error('the conformance suite runs this program')
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? ''
/** What the suite gives the operator of a client. */
const given = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as {
  client_id?: string
  client_secret?: string
  issuer?: string
  private_key_pem?: string
  signing_algorithm?: string
  valid_jwt?: string
  toolCalls?: { name: string; arguments: Record<string, unknown> }[]
}
const env = {
  ...process.env,
  ...(given.client_secret === undefined ? {} : { SUITE_SECRET: given.client_secret }),
  ...(given.private_key_pem === undefined ? {} : { SUITE_KEY: given.private_key_pem }),
  ...(given.valid_jwt === undefined ? {} : { SUITE_JWT: given.valid_jwt }),
}

/** How often, and how often at most, the program checks whether its server has answered. */
const RETRY_MS = 250
const MAX_TRIES = 400

type Servers = NonNullable<ConfigInput['mcp_servers']>
const GRANTS = {
  'auth/client-credentials-jwt': 'client_credentials',
  'auth/client-credentials-basic': 'client_credentials',
  'auth/wif-jwt-bearer': 'jwt_bearer',
} as const

/** The configuration of the server, as an operator would write it for the scenario. */
function configured(): Servers {
  const grant = GRANTS[scenario as keyof typeof GRANTS] ?? 'authorization_code'
  const { client_id, client_secret, issuer, private_key_pem, signing_algorithm, valid_jwt } = given
  const oauth = {
    grant,
    internal: ['localhost'],
    client_metadata_url: 'https://conformance-test.local/client-metadata.json',
    ...(client_id === undefined ? {} : { client_id }),
    ...(client_secret === undefined ? {} : { client_secret_env: 'SUITE_SECRET' }),
    ...(issuer === undefined ? {} : { issuer }),
    ...(private_key_pem === undefined
      ? {}
      : { private_key_env: 'SUITE_KEY', algorithm: signing_algorithm ?? 'ES256' }),
    ...(valid_jwt === undefined ? {} : { assertion_env: 'SUITE_JWT' }),
  }
  return { suite: { url: url ?? '', ...(scenario.startsWith('auth/') ? { auth: { oauth } } : {}) } }
}

const { mcp_servers: servers } = Config.parse({ mcp_servers: configured() })
const owner: AccountOwner = { org_id: 'org', user_id: 'ann' }
const person = { org_id: 'org', id: 'ann', admin: true }
const boxes = () => Promise.reject(new Error('the suite has no server over stdio'))
const logins = createMcpLogins({
  servers,
  env,
  store: memoryAccounts(),
  sealing: createSealing({ file: '', key: randomBytes(32).toString('base64') }),
  publicUrl: () => 'http://localhost:3000',
})
const mcp = startMcpServers({
  servers,
  env,
  boxes,
  logins,
  logger: (level, message, fields) => console.error(level, message, fields ?? {}),
})

/** Follows the link as a browser does in which the person is logged in everywhere. */
async function logIn(): Promise<void> {
  const { authorization_url } = await logins.begin('suite', person)
  const response = await fetch(authorization_url, { redirect: 'manual' })
  const callback = response.headers.get('location')
  if (callback === null) throw new Error(`the authorization server did not redirect: ${response.status}`)
  await logins.complete(new URL(callback).searchParams, person)
}

const agree = ({ prompt, choices }: Question): Answer => ({
  question: prompt,
  answer: choices?.[0]?.label ?? '',
})
const ask: AskPerson = async ({ questions }) => {
  if (questions.some(({ prompt }) => prompt.includes('/v1/mcp/connect/'))) await logIn()
  // A field with a default is left to it.
  return questions.filter(({ prompt }) => !prompt.includes('(default: ')).map(agree)
}

/** Any value that matches the schema. */
function sampleOf(schema: Record<string, unknown>): unknown {
  if (Array.isArray(schema['enum'])) return schema['enum'][0]
  switch (schema['type']) {
    case 'object': {
      const properties = (schema['properties'] ?? {}) as Record<string, Record<string, unknown>>
      return Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, sampleOf(inner)]))
    }
    case 'array':
      return []
    case 'number':
    case 'integer':
      return 3
    case 'boolean':
      return true
    default:
      return 'text'
  }
}

async function run(tool: Tool, args: Record<string, unknown>): Promise<void> {
  try {
    const { content } = await tool.run(args, makeContext({ ask }))
    console.log(tool.name, content)
  } catch (error) {
    console.log(tool.name, 'failed:', error)
  }
}

const signal = new AbortController().signal
/**
 * Waits until the server has answered. A turn waits for a limited time only, and the suite runs all its
 * scenarios at once: on a busy machine the first attempts to connect time out. A server that needs a login
 * answers by its refusal.
 */
async function untilAnswered(): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const found = await mcp.find('mcp__suite__any', signal, owner)
    if (found === null || scenario.startsWith('auth/')) return
    await sleep(RETRY_MS)
  }
}

await mcp.ready
await untilAnswered()
const needsLogin = (): boolean => mcp.tools(owner).some(({ name }) => name === 'mcp__suite__authorize')
for (let tries = 0; tries < 5 && needsLogin(); tries += 1) {
  await logIn()
  await untilAnswered()
}
const tools = mcp.tools(owner)
const echo = tools.find(({ name }) => name.endsWith('__json_schema_echo'))
const wanted = given.toolCalls
if (wanted === undefined) {
  for (const tool of tools)
    if (tool !== echo) await run(tool, sampleOf(toolJsonSchema(tool)) as Record<string, unknown>)
} else
  for (const { name, arguments: args } of wanted) {
    const tool = tools.find(each => each.name === `mcp__suite__${name}`)
    if (tool !== undefined) await run(tool, args)
  }
if (echo !== undefined) await run(echo, { schema: await listedSchema() })
if (scenario === 'http-standard-headers') await readTheRest()
await mcp.stop()

/** A session of its own, for what a scenario needs besides tools. */
async function openAnother() {
  const config = servers['suite']
  if (config === undefined) throw new Error('the configuration has lost its server')
  const nothing = (): void => undefined
  const listener = { onOpening: nothing, onClosed: nothing, onToolsChanged: nothing }
  return openSession('suite', config, { env: {}, boxes, clock: systemClock }, listener)
}

/** The first schema as our client received it, which the suite compares with the one that it sent. */
async function listedSchema(): Promise<unknown> {
  const { session, list } = await openAnother()
  await session.client.close()
  return list.tools[0]?.inputSchema
}

/** Resources and prompts, which agents do not use, are read with the same client. */
async function readTheRest(): Promise<void> {
  const { session } = await openAnother()
  const { client } = session
  const { resources } = await client.listResources()
  for (const { uri } of resources) await client.readResource({ uri })
  const { prompts } = await client.listPrompts()
  for (const { name } of prompts) await client.getPrompt({ name })
  await client.close()
}
