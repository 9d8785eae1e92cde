/** What a server started here, with this PATH, would report about its sandbox and the programs in it. */
import { chooseSandbox, type SandboxChoice } from '@cairn/sandbox'
import { describeMcpSandbox, findBrowser, findCodingAgents } from '@cairn/harness'
import type { Config } from '@cairn/protocol'
import { readConfig } from '../config/read-config.ts'
import type { Finding } from './finding.ts'

type Environment = Readonly<Record<string, string | undefined>>

export async function checkBoxes(env: Environment, dataDir: string): Promise<Finding[]> {
  let config: Config
  try {
    config = readConfig(env).config
  } catch {
    // The configuration check reports it.
    return []
  }
  const sandbox = await chooseSandbox({ config: config.sandbox, path: env['PATH'], claims: false })
  try {
    return [
      checkSandbox(sandbox),
      await checkBrowser(config, sandbox, env),
      checkCodingAgents(config, dataDir, sandbox),
      ...checkMcpServers(config, sandbox),
    ]
  } finally {
    await sandbox.close()
  }
}

function checkSandbox({ standing: { terminal, network, summary } }: SandboxChoice): Finding {
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
