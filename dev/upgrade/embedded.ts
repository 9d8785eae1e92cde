/**
 * The rehearsal on the embedded store: stop, back up, start the new program, write, stop, start the previous
 * one on the new schema; then a schema that it may not use, and the way back by the backup.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import type { Program } from '../chaos/fleet.ts'
import type { Release } from './packages.ts'

const TIMEOUT_MS = 120_000

type Place = { dir: string; env: Record<string, string> }
type Plan = { schema_now: number; schema_wanted: number; rollback_without_restore: boolean }

const environment = (dir: string, dataDir: string): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  HOME: dir,
  HOST: '127.0.0.1',
  PORT: '0',
  CAIRN_DATA: dataDir,
  CAIRN_WORKSPACES: `${dataDir}-workspaces`,
  LOG_LEVEL: 'error',
})

/** Runs a command to its end. Rejects with its stderr if it fails. */
async function run(
  [command, ...before]: Program,
  args: readonly string[],
  { dir, env }: Place,
): Promise<string> {
  const { stdout } = await promisify(execFile)(command, [...before, ...args], {
    cwd: dir,
    env,
    timeout: TIMEOUT_MS,
  })
  return stdout
}

/** Starts the service, acts and drains it. */
async function serving<T>(program: Program, place: Place, act: () => Promise<T>): Promise<T> {
  const [command, ...before] = program
  const child: ChildProcess = spawn(command, [...before, 'serve', '--json'], {
    cwd: place.dir,
    env: place.env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exit = once(child, 'exit')
  try {
    const ready = once(createInterface({ input: child.stdout! }), 'line')
    await Promise.race([ready, exit.then(() => Promise.reject(new Error('the service did not start')))])
    return await act()
  } finally {
    child.kill('SIGTERM')
    await exit
  }
}

/** Throws unless the program refuses to start, with this in its message. */
async function refuses(program: Program, place: Place, message: string): Promise<string> {
  const error = await run(program, ['serve'], place).then(
    () => {
      throw new Error('the service started')
    },
    (failed: unknown) => String((failed as { stderr?: string }).stderr),
  )
  if (!error.includes(message)) throw new Error(`the refusal does not say "${message}": ${error}`)
  return error.trim().split('\n')[0] ?? ''
}

/** Sends a message and throws unless the demo model repeats it and every earlier session is there. */
async function converse(program: Program, place: Place, said: string[], text: string): Promise<void> {
  const answer = await run(program, ['send', text], place)
  if (!answer.includes(text)) throw new Error(`unexpected answer: ${answer}`)
  said.push(text)
  const sessions = JSON.parse(await run(program, ['sessions', '--json'], place)) as unknown[]
  if (sessions.length !== said.length)
    throw new Error(`expected ${said.length} sessions, found ${sessions.length}`)
}

export type Step = { name: string; detail: string; failed: boolean }

export async function rehearseEmbedded(
  previous: Release,
  next: Release,
  removing: Release | null,
): Promise<Step[]> {
  const dir = mkdtempSync(join(tmpdir(), 'cairn-upgrade-'))
  const place = { dir, env: environment(dir, join(dir, 'data')) }
  const restored = { dir, env: environment(dir, join(dir, 'copy')) }
  const said: string[] = []
  const steps: Step[] = []
  async function step(name: string, act: () => Promise<string>): Promise<void> {
    if (steps.some(({ failed }) => failed)) return
    const from = performance.now()
    try {
      const detail = await act()
      const seconds = ((performance.now() - from) / 1000).toFixed(1)
      steps.push({ name, detail: `${detail === '' ? '' : `${detail}; `}${seconds} s`, failed: false })
    } catch (error) {
      steps.push({ name, detail: String(error), failed: true })
    }
  }
  const serveOne = (release: Release, at: Place, text: string): Promise<void> =>
    serving(release.program, at, () => converse(release.program, at, said, text))
  const check = async (release: Release): Promise<Plan> =>
    JSON.parse(await run(release.program, ['upgrade', '--check', '--json'], place)) as Plan
  const planText = (plan: Plan): string =>
    `schema ${plan.schema_now} to ${plan.schema_wanted}, rollback ` +
    (plan.rollback_without_restore ? 'without a restore' : 'by a restore')

  await step('the previous program writes', async () => {
    await serveOne(previous, place, 'before the upgrade')
    return previous.name
  })
  await step('cairn upgrade --check of the new program', async () => planText(await check(next)))
  await step('cairn backup', async () => {
    await run(previous.program, ['backup', join(dir, 'copy')], place)
    return 'a complete copy'
  })
  await step('the new program upgrades and writes', async () => {
    await serveOne(next, place, 'after the upgrade')
    return next.name
  })
  await step('the previous program runs on the new schema', async () => {
    await serveOne(previous, place, 'after the rollback')
    return ''
  })
  await step('the new program runs again', async () => {
    await serveOne(next, place, 'forward again')
    const findings = JSON.parse(await run(next.program, ['doctor', '--logs', '--json'], place)) as {
      check: string
      verdict: string
      detail: string
    }[]
    const logs = findings.filter(finding => finding.check === 'logs' || finding.check === 'store')
    if (logs.some(({ verdict }) => verdict !== 'ok')) throw new Error(JSON.stringify(logs))
    return `cairn doctor --logs: ${logs.map(({ detail }) => detail).join('; ')}`
  })
  if (removing !== null)
    await step('a removing migration is announced, and refused by the previous program', async () => {
      const plan = planText(await check(removing))
      await serveOne(removing, place, 'after the removal')
      return `${plan}; ${await refuses(next.program, place, 'restore a backup from before the upgrade')}`
    })
  await step('the previous program runs on the restored backup', async () => {
    // The copy has the first session only.
    said.splice(1)
    await serveOne(previous, restored, 'after the restore')
    return ''
  })
  if (steps.every(({ failed }) => !failed)) rmSync(dir, { recursive: true, force: true })
  else steps.push({ name: 'kept', detail: dir, failed: true })
  return steps
}
