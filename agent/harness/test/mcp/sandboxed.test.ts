/** A stdio server in its sandbox: what it can see, reach and use, and what the log reports. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Config, type ConfigInput, SandboxConfig } from '@cairn/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { describeMcpSandbox, mcpSandboxes } from '../../src/capabilities/mcp/sandboxed.ts'
import { startMcpServers } from '../../src/capabilities/mcp/servers.ts'
import { chooseSandbox, createPolicyProxy } from '@cairn/sandbox'
import { sandboxed } from '@cairn/sandbox/test/providers'
import { makeContext, makeFolder } from '../tools/tool-context.ts'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const program = join(root, 'agent/harness/test/mcp/shell-server.ts')
type Server = NonNullable<ConfigInput['mcp_servers']>[string]
const shell = (extra: object = {}): Server => ({
  command: process.execPath,
  args: [program],
  files: [join(root, 'agent'), join(root, 'node_modules')],
  ...extra,
})

/** `inside.test` resolves to this machine. */
async function start(servers: Record<string, Server>, ports: number[] = []) {
  const dataDir = makeFolder('mcp')
  const logged: string[] = []
  const { standing } = await chooseSandbox({
    config: SandboxConfig.parse({}),
    path: process.env['PATH'],
    claims: false,
  })
  const resolveHost = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }])
  const proxy = createPolicyProxy({ ports, resolveHost })
  onTestFinished(() => proxy.close())
  const mcp = startMcpServers({
    servers: Config.parse({ mcp_servers: servers }).mcp_servers,
    env: { ...process.env, NAMED: 'handed on', OTHER: 'kept back' },
    boxes: mcpSandboxes({
      sandbox: { provider: await sandboxed(), proxy, standing },
      dataDir,
      path: process.env['PATH'],
    }),
    logger: (level, message, fields) => logged.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
    random: () => 0,
  })
  onTestFinished(() => mcp.stop())
  await mcp.ready
  const run = async (name: string, args = {}): Promise<string> => {
    const tool = mcp.tools().find(each => each.name === name)
    if (tool === undefined) throw new Error(`no tool ${name}: ${logged.join('\n')}`)
    return String((await tool.run(args, makeContext())).content)
  }
  return { mcp, dataDir, logged, run }
}

/**
 * Promise 11.8, 11.9: A stdio MCP server sees no data of the service and reaches only what its configuration
 * allows.
 */
test('a server sees the system, its files, its own folder and the named variables, and nothing else', async () => {
  const { run, dataDir } = await start({ own: shell({ env: ['NAMED'] }) })
  const secret = join(dataDir, 'secret.txt')
  writeFileSync(secret, 'a secret')
  const command = `cat ${secret} /etc/shadow /root/.bashrc; echo kept > ~/state; touch ${root}made; env`
  const said = await run('mcp__own__run', { command })
  expect(said).not.toMatch(/a secret|root:\$|kept back|VITEST/)
  expect(said).toContain('NAMED=handed on')
  expect(readFileSync(join(dataDir, 'mcp', 'own', 'state'), 'utf8')).toBe('kept\n')
  expect(existsSync(join(root, 'made'))).toBe(false)
})

test('a server reaches only what its egress allows, through the proxy, and nothing with network: none', async () => {
  const site = createServer((_, response) => response.end('REACHED')).listen(0, '127.0.0.1')
  await once(site, 'listening')
  onTestFinished(() => void site.close())
  const { port } = site.address() as AddressInfo
  const named = { egress: { default: 'deny', internal: ['inside.test'] } }
  const { run } = await start(
    { named: shell(named), usual: shell(), cut: shell({ ...named, network: 'none' }) },
    [port],
  )
  const direct = `curl -sS -m 2 --noproxy '*' http://127.0.0.1:${port}/`
  const command = `curl -sS -m 5 http://inside.test:${port}/; ${direct}`
  expect(await run('mcp__named__run', { command })).toMatch(/^REACHED/)
  for (const name of ['usual', 'cut'])
    expect(await run(`mcp__${name}__run`, { command })).not.toContain('REACHED')
})

test('a server that uses too much memory is ended with all its processes, and restarts', async () => {
  const { run, logged, mcp } = await start({ big: shell({ memory_mb: 1024 }) })
  const hold = `perl -e '$x = "a" x 350e6; sleep 3601' &`
  await expect(run('mcp__big__run', { command: `${hold} ${hold} ${hold} ${hold} wait` })).rejects.toThrow()
  await expect.poll(() => spawnSync('pgrep', ['-f', 'sleep 3601']).status).toBe(1)
  expect(logged.join('\n')).toMatch(/lost MCP server big;.*more than 1024 MB/)
  await expect.poll(() => mcp.tools().length).toBeGreaterThan(0)
})

test('a server without a sandbox is skipped and logged, unless its configuration says none', async () => {
  const logged: string[] = []
  const sandbox = await chooseSandbox({ config: SandboxConfig.parse({}), path: '/nowhere', claims: false })
  const { mcp_servers } = Config.parse({ mcp_servers: { own: shell(), free: shell({ sandbox: 'none' }) } })
  const mcp = startMcpServers({
    servers: mcp_servers,
    env: process.env,
    boxes: mcpSandboxes({ sandbox, dataDir: makeFolder('mcp'), path: process.env['PATH'] }),
    logger: (_, message) => logged.push(message),
  })
  onTestFinished(() => mcp.stop())
  await mcp.ready
  expect(mcp.tools().map(({ name }) => name)).toEqual(['mcp__free__run'])
  expect(logged.join('\n')).toMatch(/own skipped: .*bubblewrap is not installed.*sandbox: none/)
  const { own, free } = mcp_servers
  if (own === undefined || free === undefined || 'url' in own || 'url' in free) throw new Error('over stdio')
  expect(describeMcpSandbox(own, sandbox)).toMatchObject({ isLeftOut: true })
  expect(describeMcpSandbox(free, sandbox)).toMatchObject({ isBoxed: false, isLeftOut: false })
})
