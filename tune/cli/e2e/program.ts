/** The command line as a person starts it, and the same in the test's own process, which starts faster. */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { main as runMain } from '../src/run.ts'

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))

export type ProgramResult = { code: number | null; out: string; err: string }
export type RunningProgram = {
  child: ChildProcess
  /** Resolves with the first text that `test` accepts on stdout. */ waitForOutput: (
    test: (out: string) => boolean,
  ) => Promise<void>
  ended: Promise<ProgramResult>
}

const running = new Set<ChildProcess>()

export const createDirectory = (): { path: (name: string) => string; remove: () => void } => {
  const directory = mkdtempSync(join(tmpdir(), 'cairn-tune-'))
  return {
    path: name => join(directory, name),
    remove() {
      // What a failed test left running would write on.
      for (const child of running) child.kill('SIGKILL')
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** Starts `cairn-tune` with these arguments. Nothing is asked of a hub. */
export function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): RunningProgram {
  const child = spawn(process.execPath, [main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, HF_HUB_OFFLINE: '1', ...env },
  })
  running.add(child)
  child.once('close', () => running.delete(child))
  let [out, err] = ['', '']
  const waiting = new Set<() => void>()
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    for (const check of waiting) check()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  const ended = new Promise<ProgramResult>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code => resolve({ code, out, err }))
  })
  const waitForOutput = (test: (out: string) => boolean) =>
    new Promise<void>((resolve, reject) => {
      const check = () => {
        if (!test(out)) return
        waiting.delete(check)
        resolve()
      }
      waiting.add(check)
      check()
      void ended.then(() => reject(new Error(`ended without saying it: ${out}${err}`)))
    })
  return { child, waitForOutput, ended }
}

/** Runs it to its end. */
export const run = (args: readonly string[], env?: NodeJS.ProcessEnv): Promise<ProgramResult> =>
  start(args, env).ended

/** Runs it to its end in this process. What a command does with signals and threads needs one of its own. */
export async function runHere(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<ProgramResult> {
  let [out, err] = ['', '']
  const code = await runMain(args, {
    env: { ...process.env, HF_HUB_OFFLINE: '1', ...env },
    out: text => void (out += text),
    note: line => void (err += `${line}\n`),
    terminal: undefined,
    signal: new AbortController().signal,
  })
  return { code, out, err }
}
