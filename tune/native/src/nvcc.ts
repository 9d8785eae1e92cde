/** Finds NVIDIA's compiler: an installed toolkit, or the wheels of one in a Python environment. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

export type Nvcc = { command: string; version: string }

/** Candidates in order: the environment's, the PATH, the usual location, the Python environment. */
export function nvccCandidates(env: NodeJS.ProcessEnv): string[] {
  const homes = [env.CUDA_HOME, env.CUDA_PATH].flatMap(home => home ?? [])
  const onPath = (env.PATH ?? '').split(delimiter).filter(folder => folder !== '')
  return [
    ...homes.map(home => join(home, 'bin', 'nvcc')),
    ...onPath.map(folder => join(folder, 'nvcc')),
    '/usr/local/cuda/bin/nvcc',
    ...(env.VIRTUAL_ENV ? inWheels(env.VIRTUAL_ENV) : []),
  ]
}

/** `lib/python3.12/site-packages/nvidia/cu13/bin/nvcc`, newest first. */
function inWheels(environment: string): string[] {
  const list = (folder: string) => (existsSync(folder) ? readdirSync(folder).toSorted().toReversed() : [])
  const lib = join(environment, 'lib')
  return list(lib).flatMap(python => {
    const nvidia = join(lib, python, 'site-packages', 'nvidia')
    return list(nvidia).map(name => join(nvidia, name, 'bin', 'nvcc'))
  })
}

/** The first candidate that exists and answers `--version`, or undefined. */
export function findNvcc(candidates: readonly string[]): Nvcc | undefined {
  for (const command of candidates) {
    if (!existsSync(command)) continue
    const { status, stdout } = spawnSync(command, ['--version'], { encoding: 'utf8' })
    const version = /release [\d.]+, (V[\d.]+)/.exec(stdout)?.[1]
    if (status === 0 && version !== undefined) return { command, version }
  }
  return undefined
}
