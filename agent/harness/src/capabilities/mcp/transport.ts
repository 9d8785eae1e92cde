/** Creates the transport to a configured MCP server. */
import {
  type AuthProvider,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client'
import { DEFAULT_INHERITED_ENV_VARS, StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { McpServerConfig } from '@cairn/protocol'
import type { Clock } from '@cairn/models/clock'
import { boundedFetch } from './bounded-fetch.ts'
import { LeftOut } from './left-out.ts'
import { maxAnswerBytes } from './max-answer.ts'

export type Environment = Readonly<Record<string, string | undefined>>

function readVariables(env: Environment, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.map(name => {
      const value = env[name]
      if (value === undefined)
        throw new LeftOut(`the environment variable ${name}, which its configuration names, is not set`)
      return [name, value]
    }),
  )
}

/**
 * A server's process gets PATH, to be found and to find other programs, and the variables that its
 * configuration names. The SDK adds others (HOME, USER …); `undefined` values remove them again, because Node
 * omits those from a child's environment.
 */
function childEnvironment(env: Environment, names: readonly string[]): Record<string, string> {
  const withheld: Record<string, string | undefined> = Object.fromEntries(
    DEFAULT_INHERITED_ENV_VARS.map(name => [name, undefined]),
  )
  return {
    ...withheld,
    ...(env['PATH'] === undefined ? {} : { PATH: env['PATH'] }),
    ...readVariables(env, names),
  } as Record<string, string>
}

export type Opened = {
  transport: Transport
  /** HTTP only: whether the server keeps a session, which it may forget. */ hasSession(): boolean
  /** The last line that a process wrote to stderr. */ lastWords(): string
  end(): Promise<void>
}

const LAST_WORDS = 2000

/** The sandboxes of stdio servers; null: this process has none. */
export type McpSandboxes = (
  name: string,
  config: StdioServerConfig,
  env: Record<string, string>,
) => Promise<Opened>
export type StdioServerConfig = Extract<McpServerConfig, { command: string }>

export type TransportOptions = {
  env: Environment
  boxes: McpSandboxes
  clock: Clock
  /** Reaches servers over HTTP; absent: the usual fetch. */
  fetch?: typeof globalThis.fetch | undefined
  /** The tokens for requests to the server; absent: it has no `auth`. */
  auth?: AuthProvider | undefined
}

export async function openTransport(
  name: string,
  config: McpServerConfig,
  { env, boxes, clock, fetch, auth }: TransportOptions,
): Promise<Opened> {
  if ('url' in config) {
    const values = readVariables(env, Object.values(config.headers_env))
    const headers = Object.fromEntries(
      Object.entries(config.headers_env).map(([header, name]) => [header, values[name] ?? '']),
    )
    const bounded = boundedFetch(maxAnswerBytes(config), clock, fetch)
    const transport = new StreamableHTTPClientTransport(new URL(config.url), {
      requestInit: { headers },
      fetch: bounded.fetch,
      ...(auth === undefined ? {} : { authProvider: auth }),
      // A person has to agree first (connection.ts).
      onInsufficientScope: 'throw',
    })
    // The SDK's client calls an existing handler before its own.
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's transport is not an EventTarget
    transport.onmessage = message => bounded.onMessage(message)
    return {
      // The SDK declares `sessionId` as optional there and as possibly undefined here, which differ under
      // exactOptionalPropertyTypes.
      transport: transport as Transport,
      hasSession: () => transport.sessionId !== undefined,
      lastWords: () => '',
      end: () => transport.terminateSession(),
    }
  }
  if (config.sandbox === 'box') return boxes(name, config, readVariables(env, config.env))
  const transport = new StdioClientTransport({
    command: config.command,
    args: config.args,
    env: childEnvironment(env, config.env),
    stderr: 'pipe',
    maxBufferSize: maxAnswerBytes(config),
  })
  let said = ''
  transport.stderr?.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString('utf8')).slice(-LAST_WORDS)
  })
  return { transport, hasSession: () => false, lastWords: () => said.trim(), end: () => Promise.resolve() }
}
