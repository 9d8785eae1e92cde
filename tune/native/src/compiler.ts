/** Finds the C++ compiler of this machine and says what to install where there is none. */
import { spawnSync } from 'node:child_process'

export type Compiler = { command: string; version: string }

const installHints: Partial<Record<NodeJS.Platform, string>> = {
  linux: 'Install it with `apt-get install g++`, `dnf install gcc-c++` or `apk add g++`.',
  darwin: 'Install it with `xcode-select --install`.',
}

/** Candidates in order: what the user names in CXX, then the usual commands. */
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
