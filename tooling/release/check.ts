/**
 * `npm run release:check`: builds each artifact, tries it as a user does, and prints one table. A check that
 * this machine cannot run is named with its reason. Arguments name the checks to run.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { asError } from '@cairn/protocol'
import { KERNEL_PLATFORMS, NAMES } from '../names.ts'
import { VERSION } from '../version.ts'
import { root } from '../workspace.ts'
import { answerMessage, createUser, install, NotRun, runAs, withinSeconds } from './as-user.ts'
import { buildExecutable } from './executable.ts'
import { buildKernels, compilerOf } from './kernels.ts'
import { buildCommands, buildLibrary, pack } from './packages.ts'

/** Seconds from an empty folder to the first answer. */
const INSTALL_MAX_S = 20
const EXECUTABLE_MAX_S = 10
const DEMO_MAX_S = 300
/** Major versions of Node. With 20 the commands use the pinned one. */
const NODES = ['24', '26', '20']

const work = mkdtempSync(join(tmpdir(), 'cairn-release-'))
const out = join(root, 'out')
const tarball = (name: string): string => `${name.replace('@', '').replace('/', '-')}-${VERSION}.tgz`
const commands = join(out, 'npm', tarball(NAMES.commands))
const kernels = join(out, 'kernels/linux-x64')
const kernelsFile = join(out, 'kernels', tarball(`${NAMES.kernels}-linux-x64`))
const executable = join(out, 'executable', `cairn-${VERSION}-linux-x64`)

type Check = () => string | Promise<string>

const CHECKS: Record<string, Check> = {
  async 'npm packages'() {
    const builds: string[] = []
    for (const place of [join(work, 'npm'), join(out, 'npm')]) {
      rmSync(place, { recursive: true, force: true })
      await buildCommands(join(place, 'commands'))
      for (const library of ['protocol', 'client'] as const) buildLibrary(library, join(place, library))
      const files = ['commands', 'protocol', 'client'].map(name => pack(join(place, name), place))
      builds.push(files.map(name => readFileSync(join(place, name), 'base64')).join())
    }
    if (builds[0] !== builds[1]) throw new Error('two builds differ')
    return 'two builds have the same bytes'
  },
  ...Object.fromEntries(
    KERNEL_PLATFORMS.map(platform => [`kernels for ${platform}`, () => packKernels(platform)]),
  ),
  ...Object.fromEntries(NODES.map(version => [`first answer on Node ${version}`, () => tryPackage(version)])),
  'demo of cairn-tune'() {
    if (!existsSync(kernelsFile)) throw new NotRun('there are no prebuilt kernels for linux-x64')
    const user = createUser('24', work)
    install(user, [commands, kernelsFile])
    const from = performance.now()
    runAs(user, ['npx', 'cairn-tune', 'demo', '--quick'])
    return withinSeconds(from, DEMO_MAX_S)
  },
  async 'executable for linux-x64'() {
    requireTool('strip')
    await buildExecutable(executable, join(out, 'executable/build'), kernels)
    const folder = mkdtempSync(join(work, 'executable-'))
    const from = performance.now()
    await answerMessage({ folder, env: { HOME: folder } }, [executable])
    return withinSeconds(from, EXECUTABLE_MAX_S)
  },
  'libraries in a program'() {
    const user = createUser('24', work)
    install(
      user,
      [NAMES.protocol, NAMES.client].map(name => join(out, 'npm', tarball(name))),
    )
    writeFileSync(
      join(user.folder, 'program.mts'),
      `import { createClient, type CairnClient } from '${NAMES.client}'\n` +
        `import { EVENTS } from '${NAMES.protocol}'\n` +
        "export const client: CairnClient = createClient({ baseUrl: 'http://127.0.0.1:1', token: 'none' })\n" +
        'console.log(`${Object.keys(EVENTS).length} event types`)\n',
    )
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    const flags = ['--strict', '--module', 'nodenext', '--target', 'es2023', '--lib', 'esnext,dom']
    execFileSync(process.execPath, [tsc, ...flags, 'program.mts'], { cwd: user.folder, stdio: 'pipe' })
    return `compiled; ${runAs(user, ['node', 'program.mjs']).trim()}`
  },
  // These parts of a release are not in the repository yet.
  ...Object.fromEntries(
    ['executable for linux-arm64', 'image', 'chart', 'Python client', 'upgrade from the last release'].map(
      name => [
        name,
        () => {
          throw new NotRun('not built yet')
        },
      ],
    ),
  ),
}

function requireTool(name: string): void {
  if (spawnSync(name, ['--version'], { stdio: 'ignore' }).error !== undefined)
    throw new NotRun(`${name} is not installed`)
}

async function packKernels(platform: (typeof KERNEL_PLATFORMS)[number]): Promise<string> {
  for (const name of [compilerOf(platform), 'readelf']) requireTool(name)
  const folder = join(out, 'kernels', platform)
  await buildKernels(platform, folder)
  const bytes = readFileSync(join(out, 'kernels', pack(folder, join(out, 'kernels'))))
  return `${(bytes.length / 1e6).toFixed(1)} MB packed, symbols within their floors`
}

async function tryPackage(version: string): Promise<string> {
  const user = createUser(version, work)
  const from = performance.now()
  install(user, [commands])
  await answerMessage(user, ['npx', 'cairn'])
  return withinSeconds(from, INSTALL_MAX_S)
}

type Row = { name: string; verdict: 'ok' | 'FAILED' | 'not run'; detail: string }

async function runCheck(name: string, check: Check): Promise<Row> {
  try {
    return { name, verdict: 'ok', detail: await check() }
  } catch (error) {
    return { name, verdict: error instanceof NotRun ? 'not run' : 'FAILED', detail: asError(error).message }
  }
}

const wanted = process.argv.slice(2)
const chosen = Object.entries(CHECKS).filter(
  ([name]) => wanted.length === 0 || wanted.some(word => name.includes(word)),
)
if (chosen.length === 0)
  throw new Error(`No check is named "${wanted.join(' ')}". There are: ${Object.keys(CHECKS).join(', ')}`)
mkdirSync(out, { recursive: true })
const rows: Row[] = []
try {
  for (const [name, check] of chosen) {
    console.error(`> ${name}`)
    rows.push(await runCheck(name, check))
  }
} finally {
  rmSync(work, { recursive: true, force: true })
}
const width = Math.max(...rows.map(({ name }) => name.length))
for (const { name, verdict, detail } of rows)
  console.log(`${name.padEnd(width)}  ${verdict.padEnd(7)}  ${detail}`)
process.exitCode = rows.some(({ verdict }) => verdict === 'FAILED') ? 1 : 0
