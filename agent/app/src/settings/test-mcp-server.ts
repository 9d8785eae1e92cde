/** Tests an MCP server: connects as a session would, lists its tools, and disconnects. */
import { startMcpServers } from '@cairn/harness'
import { sleep, systemClock } from '@cairn/models/clock'
import type { AnswerOf, McpServerConfig } from '@cairn/protocol'

type Result = AnswerOf<'testMcpServer'>
type Options = Pick<Parameters<typeof startMcpServers>[0], 'env' | 'boxes'> & {
  config: McpServerConfig
  fetch: typeof globalThis.fetch | undefined
}

const TIMEOUT_MS = 30_000
const DESCRIPTION_CHARS = 300

export async function testMcpServer(name: string, { config, env, boxes, fetch }: Options): Promise<Result> {
  const startedAt = systemClock.monotonic()
  let why = 'the server did not respond in time'
  const servers = startMcpServers({
    servers: { [name]: config },
    env,
    boxes,
    ...(fetch === undefined ? {} : { fetch }),
    logger(level, message, fields) {
      if (level !== 'info') why = typeof fields?.['why'] === 'string' ? fields['why'] : message
    },
  })
  const ended = new AbortController()
  const late = sleep(systemClock, TIMEOUT_MS, ended.signal)
  try {
    await Promise.race([servers.ready, late])
    const tools = servers.tools()
    const ms = Math.round(systemClock.monotonic() - startedAt)
    const found = await servers.find(`mcp__${name.replaceAll('.', '_')}__`, AbortSignal.timeout(TIMEOUT_MS))
    const isConnected = tools.length > 0 || found === null
    return {
      ok: isConnected,
      ms,
      detail: isConnected ? `Connected, ${tools.length === 1 ? '1 tool' : `${tools.length} tools`}` : why,
      advice: isConnected ? null : adviceFor(why),
      tools: tools.map(tool => ({
        name: tool.name,
        description: tool.description.slice(0, DESCRIPTION_CHARS),
      })),
    }
  } finally {
    ended.abort()
    await late.catch(() => undefined)
    await servers.stop()
  }
}

function adviceFor(why: string): string | null {
  if (/\b(?:401|403)\b|unauthori[sz]ed|forbidden/i.test(why)) return 'Replace the key in its headers'
  if (/not found in PATH/.test(why)) return 'Install the program on the machine of the service'
  if (/sandbox/.test(why))
    return 'Install bubblewrap on the machine of the service, or use a server over HTTP'
  if (/not set/.test(why)) return 'Set its headers and variables'
  if (/ECONNREFUSED|ENOTFOUND|EAI_AGAIN|fetch failed|in time|\b404\b/.test(why)) return 'Check the address'
  return null
}
