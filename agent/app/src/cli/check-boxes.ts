/**
 * The sandbox of the server on the data directory and the programs in it. Without a server: what one that
 * this command started would have.
 */
import { createClient } from '@cairn/client'
import { chooseSandbox, type SandboxChoice } from '@cairn/sandbox'
import { describeMcpSandbox, findBrowser, findCodingAgents } from '@cairn/harness'
import { type AnswerOf, asError, type Config } from '@cairn/protocol'
import { readConfig } from '../config/read-config.ts'
import { findServer } from '../local/data-dir.ts'
import { hasLocalAdmin, localToken } from '../local/local-admin.ts'
import type { Finding } from './finding.ts'

type Environment = Readonly<Record<string, string | undefined>>

const PROBE_MS = 5_000

export async function checkBoxes(env: Environment, dataDir: string): Promise<Finding[]> {
  let config: Config
  try {
    config = readConfig(env).config
  } catch {
    // The configuration check reports it.
    return []
  }
  const reported = await askServer(dataDir)
  if (reported !== null && 'problem' in reported)
    return [{ check: 'sandbox', verdict: 'warn', detail: reported.problem }]
  // The runners may have other programs than this machine.
  if (reported?.status.terminal === 'on_workers')
    return [{ check: 'sandbox', verdict: 'ok', detail: `not checked: ${reported.status.summary}` }]
  const path = reported === null ? env['PATH'] : reported.path
  const sandbox = await chooseSandbox({ config: config.sandbox, path, claims: false })
  try {
    return [
      checkSandbox(reported?.status ?? sandbox.standing),
      await checkBrowser(config, sandbox, env),
      checkCodingAgents(config, dataDir, sandbox),
      ...checkMcpServers(config, sandbox),
    ]
  } finally {
    await sandbox.close()
  }
}

type SandboxStatus = AnswerOf<'about'>['sandbox']
type Reported = { status: SandboxStatus; path: string | undefined } | { problem: string }

/** The sandbox that the running server reports, and the PATH of its programs. Null: no server. */
async function askServer(dataDir: string): Promise<Reported | null> {
  const server = findServer(dataDir)
  if (server === null || !hasLocalAdmin(dataDir)) return null
  const client = createClient({ baseUrl: server.url, token: () => localToken(dataDir) })
  try {
    const { sandbox } = await client.call('about', { signal: AbortSignal.timeout(PROBE_MS) })
    return { status: sandbox, path: server.path ?? undefined }
  } catch (error) {
    return { problem: `not checked: the server did not report its sandbox: ${asError(error).message}` }
  }
}

function checkSandbox({ terminal, network, summary }: SandboxStatus): Finding {
  const isSafe = terminal === 'boxed' && network !== 'open'
  return { check: 'sandbox', verdict: isSafe ? 'ok' : 'warn', detail: summary }
}

/** Whether agents have a browser here, and the reason if not. */
async function checkBrowser({ browser }: Config, sandbox: SandboxChoice, env: Environment): Promise<Finding> {
  const check = 'browser'
  const standing = await findBrowser(browser, sandbox, env)
  if (!standing.offered) return { check, verdict: 'warn', detail: `not available: ${standing.reason}` }
  return standing.provider === 'local'
    ? { check, verdict: 'ok', detail: `${standing.version}, sandboxed (${standing.program})` }
    : {
        check,
        verdict: 'warn',
        detail:
          `${standing.version}: pages can reach everything the network of that browser reaches; ` +
          'only host names are checked',
      }
}

/** Coding agents that can be used here, and the reason if none. */
function checkCodingAgents(config: Config, dataDir: string, sandbox: SandboxChoice): Finding {
  const check = 'coding agents'
  const { names, reason, hasGit } = findCodingAgents({ config, dataDir, sandbox })
  if (reason !== null) return { check, verdict: 'warn', detail: `none available: ${reason}` }
  if (!hasGit && Object.keys(config.code.repos).length > 0)
    return {
      check,
      verdict: 'warn',
      detail: `${names.join(', ')}; none can work in a repository because git is not installed`,
    }
  return names[0] === config.code.default
    ? { check, verdict: 'ok', detail: `${names.join(', ')}, sandboxed` }
    : {
        check,
        verdict: 'warn',
        detail:
          `${names.join(', ')}, sandboxed; code.default is ${config.code.default}, which is not ` +
          `installed: run cairn code install ${config.code.default}, or change code.default`,
      }
}

/** The sandbox of each MCP server over stdio. */
const checkMcpServers = ({ mcp_servers }: Config, sandbox: SandboxChoice): Finding[] =>
  Object.entries(mcp_servers).flatMap(([name, server]) => {
    if ('url' in server) return []
    const { isBoxed, summary } = describeMcpSandbox(server, sandbox)
    return [{ check: `mcp ${name}`, verdict: isBoxed ? ('ok' as const) : ('warn' as const), detail: summary }]
  })
