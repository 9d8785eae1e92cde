/**
 * Builds one executable per platform: Node with the bundles as its assets, and a loader that unpacks them on
 * the first start (executable-loader.cjs). The assets contain no compiled code, so the Node of this machine
 * prepares them for each platform.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { NAMES, type Platform } from '../names.ts'
import { VERSION } from '../version.ts'
import { root } from '../workspace.ts'
import { buildCommands, filesBelow, writeJson } from './packages.ts'
import { nodeFor, OWN_PLATFORM, toolFor } from './platform-node.ts'

/** Marks the place where Node looks for an injected program. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'
/** What the executable contains of the npm package. */
const PARTS = ['agent', 'tune', 'LICENSE', 'THIRD_PARTY_NOTICES']

export const executableName = (platform: Platform): string => `cairn-${VERSION}-${platform}`

type Options = {
  platform: Platform
  /** Where the executable goes. */
  file: string
  /** The folder for temporary files of the build. */
  work: string
  /** The folder of the prebuilt addons of Tune, which need not exist. */
  kernels: string
  /** For the Node of another platform. */
  cache: string
}

export async function buildExecutable({ platform, file, work, kernels, cache }: Options): Promise<void> {
  rmSync(work, { recursive: true, force: true })
  const contents = join(work, 'contents')
  await buildCommands(contents)
  for (const name of readdirSync(contents))
    if (!PARTS.includes(name)) rmSync(join(contents, name), { recursive: true })
  // Found by Node's resolution from the modules of Tune, as in an installation.
  const prebuilt = join(contents, `tune/node_modules/${NAMES.kernels}-${platform}`)
  if (existsSync(kernels)) cpSync(kernels, prebuilt, { recursive: true })

  const blob = join(work, 'blob')
  const config = join(work, 'sea.json')
  writeJson(join(work, 'files.json'), describeFiles(contents))
  writeJson(config, {
    // The executable contains this path, so it is relative to the repository.
    main: 'tooling/release/executable-loader.cjs',
    output: blob,
    disableExperimentalSEAWarning: true,
    assets: {
      'files.json': join(work, 'files.json'),
      ...Object.fromEntries(sortedFiles(contents).map(path => [path, join(contents, path)])),
    },
  })
  execFileSync(nodeFor(OWN_PLATFORM, cache), ['--experimental-sea-config', config], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  mkdirSync(dirname(file), { recursive: true })
  copyFileSync(nodeFor(platform, cache), file)
  execFileSync(toolFor(platform, 'strip'), [file])
  const postject = createRequire(import.meta.url).resolve('postject/dist/cli.js')
  execFileSync(process.execPath, [postject, file, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', FUSE], {
    stdio: 'pipe',
  })
}

const sortedFiles = (folder: string): string[] =>
  filesBelow(folder)
    .map(path => relative(folder, path))
    .toSorted()

/** Paths and sizes, and a hash of all contents, which names the folder in the cache. */
function describeFiles(folder: string): { hash: string; files: [path: string, size: number][] } {
  const hash = createHash('sha256')
  const files = sortedFiles(folder).map((path): [string, number] => {
    const bytes = readFileSync(join(folder, path))
    hash.update(`${path}\0${bytes.length}\0`).update(bytes)
    return [path, bytes.length]
  })
  return { hash: hash.digest('hex').slice(0, 20), files }
}
