/** Builds the npm packages: one with both commands, and two libraries. */
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { ARE_RESERVED, PLATFORMS, NAMES } from '../names.ts'
import { VERSION } from '../version.ts'
import { root } from '../workspace.ts'
import { bundle, OPTIONAL_PACKAGES } from './bundle.ts'
import { licensesOf, licensesOfPage, noticesText } from './notices.ts'
import { packWithNpm } from './npm.ts'

type Versions = Record<string, string>
type Manifest = {
  dependencies?: Versions
  optionalDependencies?: Versions
  exports?: Record<string, string>
}

const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest

export const writeJson = (path: string, value: unknown): void =>
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`)

const ABOUT = { version: VERSION, license: 'Apache-2.0', type: 'module' }

/** The package with the commands `cairn` and `cairn-tune`. It depends on nothing but optional packages. */
export async function buildCommands(folder: string): Promise<void> {
  mkdirSync(join(folder, 'bin'), { recursive: true })
  const agent = await bundle('agent', join(folder, 'agent'))
  const tune = await bundle('tune', join(folder, 'tune'))
  await build({
    absWorkingDir: root,
    entryPoints: ['tooling/pinned-node.mjs'],
    outfile: join(folder, 'bin/pinned-node.mjs'),
    // An old Node runs this file to find the pinned one.
    target: 'node20',
    legalComments: 'none',
  })
  writeFileSync(
    join(folder, 'bin/cairn.mjs'),
    launcher(`isAcp() ? '../agent/start.mjs' : '../agent/main.mjs'`),
  )
  writeFileSync(join(folder, 'bin/cairn-tune.mjs'), launcher(`'../tune/main.mjs'`))
  for (const name of ['cairn.mjs', 'cairn-tune.mjs']) chmodSync(join(folder, 'bin', name), 0o755)
  writeFileSync(
    join(folder, 'THIRD_PARTY_NOTICES'),
    noticesText([...licensesOf(agent), ...licensesOf(tune), ...licensesOfPage()]),
  )
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  cpSync(join(root, 'tooling/release/package-readme.md'), join(folder, 'README.md'))
  writeJson(join(folder, 'package.json'), {
    name: NAMES.commands,
    ...ABOUT,
    description: 'A service that runs LLM agents with a durable log of events, and a toolkit for fine-tuning',
    bin: { cairn: 'bin/cairn.mjs', 'cairn-tune': 'bin/cairn-tune.mjs' },
    engines: { node: '>=20' },
    optionalDependencies: optionalDependencies(),
  })
}

function optionalDependencies(): Versions {
  const { optionalDependencies: pinned = {} } = manifestOf('.')
  const { dependencies: harness = {} } = manifestOf('agent/harness')
  return Object.fromEntries([
    ...Object.entries(pinned).filter(([name]) => name.startsWith('node-linux-')),
    ...(ARE_RESERVED ? PLATFORMS.map(platform => [`${NAMES.kernels}-${platform}`, VERSION] as const) : []),
    ...OPTIONAL_PACKAGES.map(name => [name, harness[name] ?? missing(name)] as const),
  ])
}

const missing = (name: string): never => {
  throw new Error(`[packages] agent/harness/package.json does not depend on ${name}`)
}

const launcher = (main: string): string => `#!/usr/bin/env node
import { isAcp, launch } from './pinned-node.mjs'
await launch(new URL(${main}, import.meta.url))
`

/** A library of typed modules, which Node and browsers run as they are. */
export function buildLibrary(source: 'client' | 'protocol', folder: string): void {
  mkdirSync(folder, { recursive: true })
  const config = join(root, 'out', `tsconfig.${source}.json`)
  writeJson(config, {
    extends: '../tooling/tsconfig.base.json',
    compilerOptions: {
      noEmit: false,
      declaration: true,
      rewriteRelativeImportExtensions: true,
      rootDir: `../agent/${source}/src`,
      outDir: join(folder, 'dist'),
      target: 'es2023',
      lib: ['esnext', 'dom', 'dom.iterable', 'dom.asynciterable'],
    },
    include: [`../agent/${source}/src`],
    exclude: ['../**/*.test.ts', '../**/generate.ts'],
  })
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', config], {
    stdio: 'inherit',
  })
  rmSync(config)
  for (const path of filesBelow(join(folder, 'dist')))
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(`'@cairn/protocol`, `'${NAMES.protocol}`))
  const { dependencies = {}, exports = {} } = manifestOf(`agent/${source}`)
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  writeJson(join(folder, 'package.json'), {
    name: NAMES[source],
    ...ABOUT,
    sideEffects: false,
    engines: { node: '>=20' },
    exports: Object.fromEntries(
      Object.entries(exports)
        .filter(([name]) => name !== './generate' && !name.startsWith('./test/'))
        .map(([name, path]) => [name, exportOf(path)]),
    ),
    files: ['dist'],
    dependencies: Object.fromEntries(
      Object.entries(dependencies).map(([name, version]) =>
        name === '@cairn/protocol' ? [NAMES.protocol, VERSION] : [name, version],
      ),
    ),
  })
}

function exportOf(path: string): { types: string; default: string } {
  const built = path.replace('./src/', './dist/').replace(/\.ts$/, '')
  return { types: `${built}.d.ts`, default: `${built}.js` }
}

/** Paths of all files below a folder. */
export const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))

/**
 * Packs a package and returns the name of the tarball in `to`. npm writes the same time for every file, so
 * equal files give equal bytes.
 */
export function pack(folder: string, to: string): string {
  mkdirSync(to, { recursive: true })
  return packWithNpm([], to, folder)
}
