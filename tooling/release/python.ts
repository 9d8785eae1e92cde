/** The wheel of the Python client. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { asError } from '@cairn/protocol'
import { root } from '../workspace.ts'

const BUILD_TOOLS = ['build==1.6.1', 'hatchling==1.33.0']
/** Archives have this time for every file, so that two builds have the same bytes. */
const EPOCH = '1577836800'

/**
 * Builds the wheel with `python` into a folder and returns its path. Uses a virtual environment with pinned
 * tools, which pip installs from its index.
 */
export function buildWheel(python: string, folder: string): string {
  const work = join(folder, 'python-build')
  rmSync(work, { recursive: true, force: true })
  mkdirSync(work, { recursive: true })
  const run = (program: string, ...args: string[]): void => {
    try {
      execFileSync(program, args, {
        cwd: work,
        env: { ...process.env, SOURCE_DATE_EPOCH: EPOCH },
        stdio: ['ignore', 'pipe', 'pipe'],
        encoding: 'utf8',
      })
    } catch (error) {
      throw new Error(`${program} ${args.slice(0, 3).join(' ')}: ${asError(error).message}`, { cause: error })
    }
  }
  run(python, '-m', 'venv', join(work, 'venv'))
  const tools = join(work, 'venv/bin/python')
  run(tools, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...BUILD_TOOLS)
  // A copy, so that nothing is written beside the sources.
  cpSync(join(root, 'clients/python'), join(work, 'source'), {
    recursive: true,
    filter: path => !path.endsWith('__pycache__'),
  })
  run(tools, '-m', 'build', '--wheel', '--no-isolation', '--outdir', join(work, 'dist'), join(work, 'source'))
  const [wheel] = readdirSync(join(work, 'dist')).filter(name => name.endsWith('.whl'))
  if (wheel === undefined) throw new Error('[buildWheel] no wheel was built')
  cpSync(join(work, 'dist', wheel), join(folder, wheel))
  rmSync(work, { recursive: true })
  return join(folder, wheel)
}
