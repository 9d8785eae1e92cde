/**
 * `npm run release:check`: builds each artifact, tries it as a user does, and prints one table. A check that
 * this machine cannot run is named with its reason. Arguments name the checks to run.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { asError } from '@cairn/protocol'
import { NAMES, type Platform, PLATFORMS } from '../names.ts'
import { VERSION } from '../version.ts'
import { root } from '../workspace.ts'
import { answerMessage, createUser, install, NotRun, requireTool, runAs, withinSeconds } from './as-user.ts'
import { executableChecks } from './check-executable.ts'
import { imageChecks } from './check-image.ts'
import { libraryChecks } from './check-libraries.ts'
import type { Check, Checks } from './checks.ts'
import { pythonChecks } from './check-python.ts'
import { DEPLOY_CHECKS } from './deploy-checks.ts'
import { buildKernels, compilerOf } from './kernels.ts'
import { buildCommands, buildLibrary, pack } from './packages.ts'
import { SITE_CHECKS } from './site-checks.ts'
import { UPGRADE_CHECKS } from './upgrade-checks.ts'

/** Seconds from an empty folder to the first answer. */
const INSTALL_MAX_S = 20
const DEMO_MAX_S = 300
/** Major versions of Node. With 20 the commands use the pinned one. */
const NODES = ['24', '26', '20']

const work = mkdtempSync(join(tmpdir(), 'cairn-release-'))
const out = join(root, 'out')
const tarball = (name: string): string => `${name.replace('@', '').replace('/', '-')}-${VERSION}.tgz`
const commands = join(out, 'npm', tarball(NAMES.commands))
const kernelsFile = join(out, 'kernels', tarball(`${NAMES.kernels}-linux-x64`))
const folders = { work, out }

const CHECKS: Checks = {
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
  ...Object.fromEntries(PLATFORMS.map(platform => [`kernels for ${platform}`, () => packKernels(platform)])),
  ...Object.fromEntries(NODES.map(version => [`first answer on Node ${version}`, () => tryPackage(version)])),
  'demo of cairn-tune'() {
    if (!existsSync(kernelsFile)) throw new NotRun('there are no prebuilt kernels for linux-x64')
    const user = createUser('24', work)
    install(user, [commands, kernelsFile])
    const from = performance.now()
    runAs(user, ['npx', 'cairn-tune', 'demo', '--quick'])
    return withinSeconds(from, DEMO_MAX_S)
  },
  ...executableChecks(folders),
  ...libraryChecks(
    folders,
    [NAMES.protocol, NAMES.client].map(name => join(out, 'npm', tarball(name))),
  ),
  ...imageChecks(folders),
  ...DEPLOY_CHECKS,
  ...UPGRADE_CHECKS,
  ...SITE_CHECKS,
  ...pythonChecks(folders),
}

async function packKernels(platform: Platform): Promise<string> {
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
/** A word chooses the check of that name, else each check whose name contains it. */
const isChosen = (name: string): boolean =>
  wanted.some(word => (Object.hasOwn(CHECKS, word) ? name === word : name.includes(word)))
const chosen = Object.entries(CHECKS).filter(([name]) => wanted.length === 0 || isChosen(name))
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
