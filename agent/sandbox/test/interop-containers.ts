/**
 * Containers for real, with the runtime that is named (`npm run dev -- interop:containers`): what podman and
 * its runtimes must keep and no test of ours can know. Needs podman; prints a line for each, ends with 1 if
 * one is not kept.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { SandboxConfig } from '@cairn/protocol'
import type { SandboxSpec, SandboxProvider } from '../src/sandbox.ts'
import { chooseSandbox, type SandboxChoice } from '../src/choose.ts'
import { COMMAND_PATH } from '../src/program.ts'

const [role, runtime = ''] = process.argv.slice(2)
const workspace = mkdtempSync(join(tmpdir(), 'cairn-judge-'))
const choose = () =>
  chooseSandbox({
    config: SandboxConfig.parse({
      provider: 'container',
      runtime: runtime === '' ? null : runtime,
      memory_mb: 256,
    }),
    path: process.env['PATH'],
  })
const spec = (id: string): SandboxSpec => ({
  id,
  workspace,
  env: { PATH: COMMAND_PATH },
  network: 'none',
  mayGrowFiles: true,
})
const listed = (id: string): string =>
  execFileSync('podman', ['ps', '--quiet', '--filter', `label=cairn.box=${id}`], { encoding: 'utf8' }).trim()

function providerOf({ provider, standing }: SandboxChoice): SandboxProvider {
  if (provider === null) throw new Error(standing.summary)
  return provider
}

/** Opens a container, says so, and waits to be killed. */
async function beService(): Promise<void> {
  const box = providerOf(await choose()).open(spec('cairn-judge-killed'))
  const { stdout } = box.spawn(['bash', '-c', 'echo ready; sleep 1000'])
  stdout.pipe(process.stdout)
}

async function secondsUntil(isOver: () => boolean): Promise<number> {
  const began = performance.now()
  while (!isOver()) {
    if (performance.now() - began > 30_000) return Infinity
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  return Math.round(performance.now() - began) / 1000
}

/** Each says what was seen; a sentence that begins with `not` is a failure. */
const JUDGED: Readonly<Record<string, () => Promise<string>>> = {
  async 'what a killed service left running ends, at the latest at the next start'() {
    const service = spawn(process.execPath, [process.argv[1] ?? '', 'service', runtime], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exited = once(service, 'exit')
    let isReady = false
    for await (const line of createInterface({ input: service.stdout }))
      if ((isReady = line === 'ready')) break
    service.kill('SIGKILL')
    await exited
    if (!isReady) return 'not begun: its container said nothing'
    const alone = await secondsUntil(() => listed('cairn-judge-killed') === '')
    await (await choose()).close()
    const left = listed('cairn-judge-killed')
    if (left !== '') return `not ended: ${left}`
    return alone === Infinity ? 'by the next start' : `by itself, after ${alone} s`
  },
  async 'a stop ends a container that is busy'() {
    const sandbox = await choose()
    const box = providerOf(sandbox).open(spec('cairn-judge-busy'))
    const { stdout, exited } = box.spawn(['bash', '-c', 'echo ready; while :; do /bin/true; done'])
    await once(stdout, 'data')
    const began = performance.now()
    box.kill()
    await exited
    await box.close()
    await sandbox.close()
    return listed('cairn-judge-busy') === ''
      ? `after ${Math.round(performance.now() - began)} ms`
      : 'not ended'
  },
  async 'all processes together have no more memory than their limit'() {
    const sandbox = await choose()
    const box = providerOf(sandbox).open(spec('cairn-judge-memory'))
    const one = `perl -e '$x = "x" x (90 << 20); sleep 20; print "had it\\n"' &`
    const { stdout, exited } = box.spawn(['bash', '-c', `${one.repeat(5)} wait`])
    const [said, { overran }] = await Promise.all([text(stdout), exited])
    await box.close()
    await sandbox.close()
    return said.includes('had it') || overran === null ? `not kept: ${said}` : overran
  },
}

async function judge(): Promise<void> {
  let failed = 0
  for (const [what, run] of Object.entries(JUDGED)) {
    const seen = await run().catch(String)
    const isKept = !/^(?:not |Error)/.test(seen)
    failed += Number(!isKept)
    console.log(`${isKept ? 'kept  ' : 'FAILED'} ${runtime || "podman's runtime"}: ${what}: ${seen}`)
  }
  rmSync(workspace, { recursive: true, force: true })
  process.exitCode = failed === 0 ? 0 : 1
}

await (role === 'service' ? beService() : judge())
