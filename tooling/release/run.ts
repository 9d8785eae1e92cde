/** `npm run release`: builds what is published into out/, and prints each file with its size and hash. */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../workspace.ts'
import { KERNEL_PLATFORMS } from '../names.ts'
import { VERSION } from '../version.ts'
import { buildExecutable } from './executable.ts'
import { buildKernels } from './kernels.ts'
import { buildCommands, buildLibrary, pack } from './packages.ts'

const out = join(root, 'out')

/** Each part returns the paths of its files, relative to out/. */
const PARTS: Record<string, () => Promise<string[]>> = {
  async npm() {
    const folder = join(out, 'npm')
    rmSync(folder, { recursive: true, force: true })
    await buildCommands(join(folder, 'commands'))
    buildLibrary('protocol', join(folder, 'protocol'))
    buildLibrary('client', join(folder, 'client'))
    return ['commands', 'protocol', 'client'].map(name => join('npm', pack(join(folder, name), folder)))
  },
  async kernels() {
    const folder = join(out, 'kernels')
    const files: string[] = []
    for (const platform of KERNEL_PLATFORMS) {
      const target = join(folder, platform)
      rmSync(target, { recursive: true, force: true })
      await buildKernels(platform, target)
      files.push(join('kernels', pack(target, folder)))
    }
    return files
  },
  async executable() {
    const name = `cairn-${VERSION}-linux-x64`
    const kernels = join(out, 'kernels/linux-x64')
    await buildExecutable(join(out, 'executable', name), join(out, 'executable/build'), kernels)
    return [join('executable', name)]
  },
}

const { values } = parseArgs({ options: { only: { type: 'string', multiple: true } } })
const wanted = values.only ?? Object.keys(PARTS)
const unknown = wanted.find(name => !Object.hasOwn(PARTS, name))
if (unknown !== undefined)
  throw new Error(`Unknown part "${unknown}": must be one of ${Object.keys(PARTS).join(', ')}`)
mkdirSync(out, { recursive: true })
for (const name of wanted) {
  for (const path of (await PARTS[name]?.()) ?? []) {
    const bytes = readFileSync(join(out, path))
    const hash = createHash('sha256').update(bytes).digest('hex')
    console.log(`out/${path}  ${(bytes.length / 1e6).toFixed(1)} MB  sha256 ${hash}`)
  }
}
