/** The Python client as its users see it: the wheel in an empty environment, type checkers, size. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../workspace.ts'
import { NotRun, requireTool } from './as-user.ts'
import { type CheckFolders, type Checks, hashOf, orNotRun } from './checks.ts'
import { buildWheel } from './python.ts'

const MAX_BYTES = 300_000
const TYPE_CHECKERS = ['pyright==1.1.414', 'mypy==2.4.1']

export function pythonChecks({ work, out }: CheckFolders): Checks {
  return {
    'Python client'() {
      requireTool('python3')
      const wheels = ['one', 'two'].map(name => {
        const folder = join(work, 'python', name)
        mkdirSync(folder, { recursive: true })
        return orNotRun(() => buildWheel('python3', folder))
      })
      const [wheel = '', again = ''] = wheels
      if (hashOf(wheel) !== hashOf(again)) throw new Error('two builds differ')
      const { size } = statSync(wheel)
      if (size > MAX_BYTES) throw new Error(`the wheel has ${size} bytes: at most ${MAX_BYTES}`)
      run('node', ['tooling/run.mjs', 'dev', 'interop:python'], root)
      return `${Math.round(size / 1000)} kB; its tests, the README and the notebook pass`
    },
    'types of the Python client'() {
      requireTool('python3')
      const folder = join(work, 'python-types')
      const python = join(folder, 'bin/python')
      run('python3', ['-m', 'venv', folder], work)
      const installed = spawnSync(python, ['-m', 'pip', 'install', '--quiet', ...TYPE_CHECKERS, 'httpx'])
      if (installed.status !== 0) throw new NotRun('pip could not install the type checkers')
      const client = join(root, 'clients/python')
      run(python, ['-m', 'pyright', '--pythonpath', python], client)
      run(python, ['-m', 'mypy', '--strict', '--cache-dir', join(out, 'cache/mypy'), 'src'], client)
      return TYPE_CHECKERS.join(' and ').concat(' in strict mode report nothing')
    },
  }
}

function run(program: string, args: readonly string[], cwd: string): void {
  const { status, stdout, stderr } = spawnSync(program, [...args], { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args[0] ?? ''}: ${`${stdout}${stderr}`.trim().slice(-400)}`)
}
