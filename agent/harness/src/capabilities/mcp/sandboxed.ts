/**
 * Stdio servers in their own sandboxes: read access to the system's programs and to the files that the
 * configuration names; write access to a private folder, which is home and working directory; the network
 * that the configuration allows. One sandbox per connection.
 */
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  type Bind,
  type SandboxNetwork,
  type SandboxProvider,
  type SandboxChoice,
  COMMAND_PATH,
  findProgram,
} from '@cairn/sandbox'
import { LeftOut } from './left-out.ts'
import { maxAnswerBytes } from './max-answer.ts'
import type { McpSandboxes, StdioServerConfig } from './transport.ts'

export type McpSandboxesOptions = {
  sandbox: Pick<SandboxChoice, 'provider' | 'proxy' | 'standing'>
  /** Absolute; each server has a folder below it. */
  dataDir: string
  /** The service's PATH, in which commands are found. */
  path: string | undefined
}

const INSTEAD = '`sandbox: none` in its configuration runs it with the rights of this server'
/** Folders that every sandbox can see. */
const SYSTEM = /^\/(?:usr|bin|sbin|lib|lib64)\//
const LAST_WORDS = 2000

export const mcpSandboxes =
  ({ sandbox, dataDir, path }: McpSandboxesOptions): McpSandboxes =>
  async (name, config, variables) => {
    const place = placeOf(sandbox)
    if ('reason' in place) throw new LeftOut(`${place.reason}; ${INSTEAD}`)
    const program = config.command.startsWith('/') ? config.command : findProgram(config.command, path)
    if (program === null) throw new LeftOut(`program ${config.command} not found in PATH`)
    const home = join(dataDir, 'mcp', name)
    mkdirSync(home, { recursive: true, mode: 0o700 })
    const { SandboxedTransport } = await import('./sandboxed-transport.ts')
    await using undo = new AsyncDisposableStack()
    const id = `cairn-mcp-${name}`
    const network = networkOf(config, place.provider)
    const boxProxy =
      network === 'proxy' ? await sandbox.proxy?.open({ id, egress: config.egress }) : undefined
    undo.defer(() => boxProxy?.close())
    const box = place.provider.open({
      id,
      workspace: home,
      binds: readable([program, process.execPath, ...config.files]),
      env: {
        PATH: `${dirname(process.execPath)}:${COMMAND_PATH}`,
        HOME: home,
        LANG: 'C.UTF-8',
        ...variables,
      },
      network: boxNetwork(network, boxProxy?.socket),
      limits: {
        ...(config.memory_mb === undefined ? {} : { memory_mb: config.memory_mb }),
        ...(config.pids === undefined ? {} : { pids: config.pids }),
      },
      mayGrowFiles: true,
    })
    undo.defer(() => box.close())
    const running = box.spawn([program, ...config.args], { stdin: 'pipe' })
    let said = ''
    running.stderr.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString('utf8')).slice(-LAST_WORDS)
    })
    const parts = undo.move()
    return {
      transport: new SandboxedTransport(running, () => parts.disposeAsync(), maxAnswerBytes(config)),
      hasSession: () => false,
      lastWords: () => [said.trim(), ...(boxProxy?.refusals() ?? [])].filter(Boolean).join('\n'),
      end: () => Promise.resolve(),
    }
  }

function placeOf({
  provider,
  standing,
}: McpSandboxesOptions['sandbox']): { provider: SandboxProvider } | { reason: string } {
  if (provider === null) return { reason: `no sandbox is available: ${standing.summary}` }
  return provider.kind === 'unboxed'
    ? { reason: 'no sandbox is available: `sandbox.terminal: unboxed` is set' }
    : { provider }
}

/** From least to most access; the lesser of two levels applies. */
const ORDER = ['none', 'proxy', 'open'] as const
function networkOf({ network }: StdioServerConfig, provider: SandboxProvider): (typeof ORDER)[number] {
  const most = ORDER.indexOf(provider.network)
  const wanted = ORDER[Math.min(most, network === undefined ? most : ORDER.indexOf(network))] ?? 'none'
  return wanted === 'proxy' && !provider.hasProxies ? 'none' : wanted
}

const boxNetwork = (network: (typeof ORDER)[number], socket: string | undefined): SandboxNetwork =>
  network === 'proxy' ? (socket === undefined ? 'none' : { socket }) : network

const readable = (paths: readonly string[]): Bind[] =>
  [...new Set(paths)]
    .filter(path => !SYSTEM.test(path))
    .map(path => ({ from: path, to: path, writable: false }))

/** One sentence about the sandbox of a stdio server here, for people. */
export function describeMcpSandbox(
  config: StdioServerConfig,
  sandbox: McpSandboxesOptions['sandbox'],
): { isBoxed: boolean; isLeftOut: boolean; summary: string } {
  if (config.sandbox === 'none')
    return { isBoxed: false, isLeftOut: false, summary: 'runs WITHOUT a sandbox, as configured' }
  const place = placeOf(sandbox)
  if ('reason' in place)
    return { isBoxed: false, isLeftOut: true, summary: `is skipped: ${place.reason}; ${INSTEAD}` }
  const network = networkOf(config, place.provider)
  const reaches = {
    none: 'without a network',
    proxy: 'that reaches the network through the policy proxy',
    open: 'with the network of this machine',
  }
  return { isBoxed: true, isLeftOut: false, summary: `runs in a sandbox ${reaches[network]}` }
}
