/**
 * Tests the ARM kernels on another processor: `npm run dev -- neon` compiles them with a cross compiler and
 * runs their tests in the arm64 build of Node under qemu. It takes minutes and downloads that Node, so it is
 * not part of `npm test`. Arguments are test files to run instead.
 */
import { spawnSync } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ARM64_COMPILER, arm64Emulator } from '../../tooling/release/emulator.ts'
import { nodeFor } from '../../tooling/release/platform-node.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

function run(): number {
  const [emulator, ...before] = arm64Emulator()
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'cairn-neon')
  const program = fileURLToPath(new URL('emulated.ts', import.meta.url))
  const args = [...before, nodeFor('linux-arm64', cache), program, ...process.argv.slice(2)]
  // A cache of its own: a build for another processor must not push out one that is in use here.
  const env = { ...process.env, CXX: ARM64_COMPILER, XDG_CACHE_HOME: cache }
  const { status, signal, error } = spawnSync(emulator, args, { cwd: root, stdio: 'inherit', env })
  if (error) throw new Error(`${emulator} could not be started`, { cause: error })
  if (signal) throw new Error(`${emulator} was ended by ${signal}.`)
  return status ?? 1
}

try {
  process.exitCode = run()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
