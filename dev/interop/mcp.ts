/**
 * The MCP client and the MCP server against the protocol's own conformance suite, which npm fetches. A
 * revision is passed when every scenario that it requires passes, without a list of expected failures. The
 * suite also runs extensions of the protocol, and does not count them.
 *
 *   npm run dev -- interop:mcp [REVISION] [client | server]
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const SUITE = '@modelcontextprotocol/conformance@0.2.0-alpha.12'
const REVISIONS = ['2025-11-25', '2026-07-28']
const SIDES = ['client', 'server'] as const
/** All scenarios of a revision run at once, so a small machine needs long for each. */
const TIMEOUT_MS = 600_000

const words = process.argv.slice(2)
const unknown = words.find(word => ![...REVISIONS, ...SIDES].includes(word))
if (unknown !== undefined) {
  const known = [...REVISIONS, ...SIDES].join(', ')
  console.error(`Unknown argument ${JSON.stringify(unknown)}: must be one of ${known}`)
  process.exit(2)
}
/** Those of a list that the command line names; all of it if it names none. */
const chosen = <T extends string>(all: readonly T[]): readonly T[] => {
  const named = all.filter(each => words.includes(each))
  return named.length === 0 ? all : named
}
const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'cairn-mcp-suite-'))
const client = join(folder, 'client.mjs')
// The suite starts the program once a scenario; one file starts in a fraction of the time.
await build({
  entryPoints: [join(root, 'agent/harness/test/mcp/conformance-client.ts')],
  outfile: client,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  external: ['playwright-core', '@playwright/mcp'],
  banner: {
    js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
  },
})
const server = spawn(process.execPath, [join(root, 'agent/compat/test/mcp/conformance-server.ts')], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
const [url] = (await once(createInterface({ input: server.stdout }), 'line')) as [string]

const HOW = {
  client: ['--command', `${process.execPath} ${client}`, '--timeout', String(TIMEOUT_MS)],
  server: ['--url', url],
}

/** The suite needs the Node that runs this program, which may not be the one of the system. */
const env = { ...process.env, PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter) }

const failed: string[] = []
for (const revision of chosen(REVISIONS))
  for (const side of chosen(SIDES)) if (!(await passes(side, revision))) failed.push(`${side} ${revision}`)
server.kill()
rmSync(folder, { recursive: true, force: true })
console.log(failed.length === 0 ? '\nEvery required scenario passed.' : `\nFailed: ${failed.join(', ')}`)
process.exitCode = failed.length === 0 ? 0 : 1

async function passes(side: (typeof SIDES)[number], revision: string): Promise<boolean> {
  const suite = ['exec', '--yes', `--package=${SUITE}`, '--', 'conformance', side]
  const args = [...suite, '--requirements', revision, ...HOW[side]]
  const { ok, stdout, stderr } = await new Promise<{ ok: boolean; stdout: string; stderr: string }>(
    resolve => {
      const options = { cwd: folder, env, encoding: 'utf8' as const, maxBuffer: 2 ** 28 }
      execFile('npm', args, options, (error, stdout, stderr) =>
        resolve({ ok: error === null, stdout, stderr }),
      )
    },
  )
  console.log(`\n# ${side}, ${revision}`)
  const summary = stdout.search(/=== (?:SUITE )?SUMMARY ===/)
  console.log(summary === -1 ? `The suite did not finish:\n${stderr}` : stdout.slice(summary).trim())
  return ok
}
