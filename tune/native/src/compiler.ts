/** Finds the C++ compiler of this machine, or explains what to install, and runs it. */
import { spawn, spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

export type Compiler = { command: string; version: string }

const installHints: Partial<Record<NodeJS.Platform, string>> = {
  linux: 'Install it with `apt-get install g++`, `dnf install gcc-c++` or `apk add g++`.',
  darwin: 'Install it with `xcode-select --install`.',
}

/** Candidates in order: the user's CXX, then the usual commands. */
export function compilerCandidates(env: NodeJS.ProcessEnv): string[] {
  return env.CXX ? [env.CXX] : ['c++', 'g++', 'clang++']
}

/** The first candidate that answers `--version`. */
export function findCompiler(candidates: string[]): Compiler {
  for (const command of candidates) {
    const { status, stdout } = spawnSync(command, ['--version'], { encoding: 'utf8' })
    if (status === 0) return { command, version: stdout.split('\n')[0] ?? '' }
  }
  const hint = installHints[process.platform] ?? 'Install g++ or clang++.'
  throw new Error(
    'The training kernels need a C++20 compiler such as g++, and none of these runs: ' +
      `${candidates.join(', ')}. ${hint}`,
  )
}

/** Runs one task per available processor at a time. */
export async function forAll<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items]
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: availableParallelism() }, worker))
}

export function runCompiler(command: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] })
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    child.on('error', error => reject(new Error(`cannot start ${command}`, { cause: error })))
    child.on('close', status => {
      if (status === 0) resolve()
      else
        reject(new Error(`${command} failed with status ${status}:\n${command} ${args.join(' ')}\n${stderr}`))
    })
  })
}
