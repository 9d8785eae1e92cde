/** `npm run release`: builds what is published into out/, and prints each file with its size and hash. */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { asError } from '@cairn/protocol'
import { root } from '../workspace.ts'
import { PLATFORMS } from '../names.ts'
import { packChart } from './chart.ts'
import { buildExecutable, executableName } from './executable.ts'
import { buildImage, readVariants, type VariantName } from './image.ts'
import { buildKernels } from './kernels.ts'
import { buildCommands, buildLibrary, pack } from './packages.ts'
import { buildWheel } from './python.ts'

const out = join(root, 'out')

/** Each part returns the paths of its files, relative to out/. */
const PARTS: Record<string, (variants: readonly VariantName[]) => Promise<string[]>> = {
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
    for (const platform of PLATFORMS) {
      const target = join(folder, platform)
      rmSync(target, { recursive: true, force: true })
      await buildKernels(platform, target)
      files.push(join('kernels', pack(target, folder)))
    }
    return files
  },
  async chart() {
    return [relative(out, packChart(join(out, 'chart')))]
  },
  async executable() {
    const files: string[] = []
    for (const platform of PLATFORMS) {
      const file = join('executable', executableName(platform))
      await buildExecutable({
        platform,
        file: join(out, file),
        work: join(out, 'executable/build'),
        kernels: join(out, 'kernels', platform),
        cache: join(out, 'cache'),
      })
      files.push(file)
    }
    return files
  },
  async python() {
    const folder = join(out, 'python')
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    return [relative(out, buildWheel('python3', folder))]
  },
  async image(variants) {
    const files: string[] = []
    for (const name of variants) {
      const { file } = await buildImage(name, join(out, 'image'))
      files.push(relative(out, file))
    }
    return files
  },
}

async function release({ only, variant }: { only?: string[]; variant?: string[] }): Promise<void> {
  const wanted = only ?? Object.keys(PARTS)
  const unknown = wanted.find(name => !Object.hasOwn(PARTS, name))
  if (unknown !== undefined)
    throw new Error(`Unknown part "${unknown}": must be one of ${Object.keys(PARTS).join(', ')}`)
  const variants = readVariants(variant)
  mkdirSync(out, { recursive: true })
  for (const name of wanted) {
    for (const path of (await PARTS[name]?.(variants)) ?? []) {
      const bytes = readFileSync(join(out, path))
      const hash = createHash('sha256').update(bytes).digest('hex')
      console.log(`out/${path}  ${(bytes.length / 1e6).toFixed(1)} MB  sha256 ${hash}`)
    }
  }
}

const option = { type: 'string', multiple: true } as const
try {
  await release(parseArgs({ options: { only: option, variant: option } }).values)
} catch (error) {
  console.error(asError(error).message)
  process.exitCode = 1
}
