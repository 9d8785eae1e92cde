/**
 * Every service pays for what it loads at start, in start time and memory. So the SDKs of vendors, platforms
 * and protocols are loaded on first use, and this list has all packages that are loaded at start.
 */
import { readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageOf, readImports, resolveRelative, root } from './workspace.ts'

const AT_THE_START = ['croner', 'jose', 'node-diff3', 'prom-client', 'undici', 'ws', 'yaml', 'zod']

type Exports = Record<string, string>

/** The source of one of our modules, by its import specifier. */
function sourceOf(specifier: string): string {
  const name = packageOf(specifier).replace('@cairn/', '')
  const folder = name === 'tooling' ? name : `agent/${name}`
  const manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as {
    exports: Exports
  }
  const module = `.${specifier.slice(packageOf(specifier).length)}`
  const path = manifest.exports[module]
  if (path === undefined) throw new Error(`${folder}/package.json exports no ${module}`)
  return join(folder, path)
}

function loadsOf(entry: string): { folders: string[]; packages: string[] } {
  const seen = new Set<string>()
  const packages = new Set<string>()
  const walk = (path: string): void => {
    if (seen.has(path)) return
    seen.add(path)
    for (const { specifier, isType, isDynamic } of readImports({
      path,
      text: readFileSync(join(root, path), 'utf8'),
    })) {
      if (isType || isDynamic || isBuiltin(specifier)) continue
      if (specifier.startsWith('.')) walk(resolveRelative(path, specifier))
      else if (specifier.startsWith('@cairn/')) walk(sourceOf(specifier))
      else packages.add(packageOf(specifier))
    }
  }
  walk(entry)
  // The folders of our modules, such as agent/api/src/auth.
  const folders = new Set([...seen].map(path => path.split('/').slice(0, -1).join('/')))
  return { folders: [...folders].toSorted(), packages: [...packages].toSorted() }
}

test('an unused service has loaded only the listed packages, and no SDK', () => {
  expect(loadsOf('agent/app/src/main.ts').packages).toEqual(AT_THE_START)
})

/** Sources that such a command may load: of the API only the code that creates a token. */
const LIGHT = /^agent\/(?:app|client|protocol|workspace)\/|^agent\/api\/src\/auth$|^tooling(?:\/cli)?$/

const CALLS_A_SERVER = [
  'answer',
  'approve',
  'export',
  'goal',
  'inbox',
  'rate',
  'send',
  'sessions',
  'show',
  'tail',
]

test.each(['main', ...CALLS_A_SERVER, 'schedules', 'session-verbs', 'workers'])(
  'the command line loads %s.ts without server code',
  name => {
    const { folders, packages } = loadsOf(`agent/app/src/cli/${name}.ts`)
    expect(packages.filter(each => !['eventsource-parser', 'jose', 'zod'].includes(each))).toEqual([])
    expect(folders.filter(folder => !LIGHT.test(folder))).toEqual([])
  },
)
