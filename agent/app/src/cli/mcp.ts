/** cairn mcp: your accounts at MCP servers, and the service as an MCP server. */
import { setTimeout as wait } from 'node:timers/promises'
import type { CairnClient } from '@cairn/client'
import type { AnswerOf } from '@cairn/protocol'
import { EXIT, UsageError } from '../exit.ts'
import { defineCommand, type Io, takePositionals } from './command.ts'
import { CONNECT_OPTIONS, connectWith } from './connect.ts'
import { jsonLine } from './terminal-text.ts'

type Account = AnswerOf<'listMcpAccounts'>['accounts'][number]

const POLL_MS = 1000
const LOGIN_MS = 10 * 60_000

export const mcp = defineCommand({
  name: 'mcp',
  summary: 'Serve MCP on stdin and stdout, or list your accounts at MCP servers, log in, or log out',
  usage: [
    ['mcp', 'list the MCP servers with a login'],
    ['mcp login SERVER', 'print the link at which you log in, and wait until you have'],
    ['mcp logout SERVER', 'forget your account and its tokens'],
    [
      'mcp serve',
      'run an MCP server for editors on stdin and stdout, with the sessions of a running service',
    ],
  ],
  options: CONNECT_OPTIONS,
  async run({ values, positionals: [verb, ...rest] }, io) {
    const { client, ...service } = connectWith(values, io)
    if (verb === 'serve') {
      takePositionals(rest, [])
      const { serveMcp } = await import('./mcp-serve.ts')
      await serveMcp(service, io.note)
      return EXIT.ok.code
    }
    const accounts = await listed(client, io)
    if (verb === undefined) {
      io.out(values.json ? jsonLine(accounts) : accounts.map(lineOf).join(''))
      return EXIT.ok.code
    }
    if (verb !== 'login' && verb !== 'logout')
      throw new UsageError(`Expected "login", "logout" or "serve", got "${verb}"`)
    const [server] = takePositionals(rest, ['server name'])
    const account = accounts.find(each => each.server === server)
    if (account === undefined) {
      const names = accounts.map(each => each.server).join(', ')
      throw new UsageError(`MCP server "${server}" has no login. Servers with one: ${names || 'none'}`)
    }
    if (verb === 'logout') {
      await client.call('removeMcpAccount', { params: { server }, signal: io.signal })
      return EXIT.ok.code
    }
    io.out(`${account.link}\n`)
    const connected = await waitForLogin(client, io, account)
    io.out(values.json ? jsonLine(connected) : lineOf(connected))
    return EXIT.ok.code
  },
})

const listed = async (client: CairnClient, { signal }: Io): Promise<Account[]> =>
  (await client.call('listMcpAccounts', { signal })).accounts

function lineOf({ server, per, connected, scope }: Account): string {
  const state = `${connected ? 'connected' : 'not connected'}${per === 'shared' ? ', shared' : ''}`
  return `${[server, state, scope].filter(part => part !== null).join('  ')}\n`
}

async function waitForLogin(client: CairnClient, io: Io, before: Account): Promise<Account> {
  const end = performance.now() + LOGIN_MS
  for (;;) {
    const now = (await listed(client, io)).find(({ server }) => server === before.server)
    if (now?.connected === true && now.connected_at !== before.connected_at) return now
    if (performance.now() > end) throw new Error(`No login to ${before.server} within 10 minutes.`)
    await wait(POLL_MS, undefined, { signal: io.signal })
  }
}
