/**
 * Runs both products as processes with arguments, an environment and output. Imports nothing from either
 * product.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const MAIN = {
  cairn: fileURLToPath(new URL('../../agent/app/src/cli/main.ts', import.meta.url)),
  'cairn-tune': fileURLToPath(new URL('../../tune/cli/src/main.ts', import.meta.url)),
}

export type ProgramOptions = {
  cwd: string
  env?: Record<string, string>
  /** Runs this command instead of the sources, without the variables of the shell. */
  installed?: readonly [command: string, ...args: string[]]
}
type ProgramResult = { code: number | null; out: string; err: string }

/**
 * The shell's environment without the variables that configure a Cairn server: a test must not write to the
 * developer's own store.
 */
const INHERITED = Object.entries(process.env).filter(
  ([name]) => !/^(?:CAIRN_|DATABASE_|VLLM_)|^(?:PORT|HOST|LOG_LEVEL)$/.test(name),
)

function launch(
  program: keyof typeof MAIN,
  args: readonly string[],
  { cwd, env = {}, installed }: ProgramOptions,
): { child: ChildProcess; ended: Promise<ProgramResult>; firstLine: Promise<string> } {
  const [command, ...before] = installed ?? [process.execPath, MAIN[program]]
  const variables = installed === undefined ? Object.fromEntries(INHERITED) : { HOME: cwd }
  const child = spawn(command, [...before, ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...variables, HF_HUB_OFFLINE: '1', ...env },
  })
  const { promise: firstLine, resolve, reject } = Promise.withResolvers<string>()
  // `run` never awaits the first line, so its rejection must not be unhandled.
  firstLine.catch(() => {})
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    if (out.includes('\n')) resolve(out.slice(0, out.indexOf('\n')))
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  const ended = new Promise<ProgramResult>((settle, fail) => {
    child.once('error', fail)
    child.once('close', code => {
      reject(
        new Error(
          `${program} ${args.join(' ')} ended with code ${String(code)} before it said anything:\n${err}`,
        ),
      )
      settle({ code, out, err })
    })
  })
  return { child, ended, firstLine }
}

/** Runs a command to its end and returns its stdout. Throws with its output on a nonzero exit code. */
export async function run(
  program: keyof typeof MAIN,
  args: readonly string[],
  options: ProgramOptions,
): Promise<string> {
  const { code, out, err } = await launch(program, args, options).ended
  if (code !== 0)
    throw new Error(`${program} ${args.join(' ')} ended with code ${String(code)}:\n${err}${out}`)
  return out
}

/** Starts a server with `--json` and returns its URL. `stop` sends Ctrl-C, and runs when the test ends. */
export async function serve(
  program: keyof typeof MAIN,
  args: readonly string[],
  options: ProgramOptions,
): Promise<{ url: string; stop: () => Promise<void> }> {
  const { child, ended, firstLine } = launch(program, ['serve', ...args, '--json'], options)
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGINT')
    await ended
  }
  onTestFinished(stop)
  const { url } = JSON.parse(await firstLine) as { url: string }
  return { url, stop }
}
