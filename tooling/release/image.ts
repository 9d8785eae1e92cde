/** Builds the container images (deploy/container/README.md): Debian's packages, Node and a bundle. */
import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { NAMES } from '../names.ts'
import { VERSION } from '../version.ts'
import { root } from '../workspace.ts'
import { OPTIONAL_PACKAGES } from './bundle.ts'
import { readContainerfile } from './containerfile.ts'
import { writeImage } from './image-archive.ts'
import { buildCommands } from './packages.ts'
import { nodeFor, toolFor } from './platform-node.ts'
import { buildRootFilesystem } from './root-filesystem.ts'

const PLATFORM = 'linux-x64'

type Variant = {
  name: string
  title: string
  containerfile: string
  /** Debian's packages beside the essential ones. */
  packages: readonly string[]
  /** Folder of the npm package whose modules the image runs. */
  product: 'agent' | 'tune'
  /** Packages of npm that are found at run time. */
  modules: readonly string[]
}

const SYSTEM = ['ca-certificates', 'libstdc++6', 'tini']
const AGENT = [...SYSTEM, 'bubblewrap']

export const VARIANTS = {
  agent: {
    name: NAMES.image,
    title: 'Cairn Agent',
    containerfile: 'Containerfile',
    packages: AGENT,
    product: 'agent',
    modules: [],
  },
  browser: {
    name: `${NAMES.image}-browser`,
    title: 'Cairn Agent with a browser',
    containerfile: 'Containerfile',
    packages: [...AGENT, 'chromium', 'fonts-liberation', 'fonts-noto-cjk', 'fonts-noto-color-emoji'],
    product: 'agent',
    modules: OPTIONAL_PACKAGES,
  },
  tune: {
    name: `${NAMES.image}-tune`,
    title: 'Cairn Tune',
    containerfile: 'Containerfile.tune',
    packages: SYSTEM,
    product: 'tune',
    modules: [],
  },
} as const satisfies Record<string, Variant>

export type VariantName = keyof typeof VARIANTS

/** The variants that `--variant` names; the agent alone if it names none. */
export function readVariants(given: readonly string[] = ['agent']): VariantName[] {
  return given.map(name => {
    if (!isVariant(name))
      throw new Error(`Unknown variant "${name}": must be one of ${Object.keys(VARIANTS).join(', ')}`)
    return name
  })
}

const isVariant = (name: string): name is VariantName => Object.hasOwn(VARIANTS, name)

export const archiveName = (name: VariantName): string => `${VARIANTS[name].name}-${VERSION}-${PLATFORM}.tar`

export type BuiltImage = { file: string; bytes: number }

/** Builds an image in `folder` and returns its archive, and the bytes of its files. */
export async function buildImage(name: VariantName, folder: string): Promise<BuiltImage> {
  const variant: Variant = VARIANTS[name]
  const created = sourceDate()
  const text = readFileSync(join(root, 'deploy/container', variant.containerfile), 'utf8')
  const { layers, config } = readContainerfile(text)
  const context = join(folder, variant.name)
  rmSync(context, { recursive: true, force: true })
  mkdirSync(context, { recursive: true })
  const volumes = Object.keys(config.Volumes ?? {})
  buildRootFilesystem({ packages: variant.packages, volumes, created }, join(context, 'rootfs.tar'))
  copyNode(join(context, 'node'), join(root, 'out/cache'))
  await copyProgram(variant, context)
  copyFileSync(join(root, 'deploy/container', variant.containerfile), join(context, 'Containerfile'))
  const file = join(folder, archiveName(name))
  const tag = `${variant.name}:${VERSION}`
  const labels = labelsOf(variant, created)
  const { bytes } = await writeImage(
    { tag, architecture: 'amd64', layers, config, labels, created },
    context,
    file,
  )
  return { file, bytes }
}

function copyNode(file: string, cache: string): void {
  copyFileSync(nodeFor(PLATFORM, cache), file)
  chmodSync(file, 0o755)
  execFileSync(toolFor(PLATFORM, 'strip'), [file])
}

async function copyProgram({ product, modules }: Variant, context: string): Promise<void> {
  const [contents, app] = [join(context, 'contents'), join(context, 'app')]
  await buildCommands(contents)
  cpSync(join(contents, product), app, { recursive: true })
  for (const file of ['LICENSE', 'THIRD_PARTY_NOTICES']) copyFileSync(join(contents, file), join(app, file))
  rmSync(contents, { recursive: true })
  for (const folder of installedFolders(modules, root))
    cpSync(folder, join(app, relative(root, folder)), { recursive: true })
  if (product === 'agent')
    copyFileSync(join(root, 'deploy/container/healthcheck.mjs'), join(app, 'healthcheck.mjs'))
  const kernels = join(root, 'out/kernels', PLATFORM)
  if (product === 'tune') {
    if (!existsSync(kernels))
      throw new Error('[image] out/kernels/linux-x64 is missing: run npm run release -- --only kernels')
    cpSync(kernels, join(app, `node_modules/${NAMES.kernels}-${PLATFORM}`), { recursive: true })
  }
}

/** The folders of installed packages and of those that they depend on, as Node finds them from `from`. */
export function installedFolders(names: readonly string[], from: string): string[] {
  const folders = new Set<string>()
  const visit = (name: string, parent: string): void => {
    const folder = findInstalled(name, parent)
    if (folders.has(folder)) return
    folders.add(folder)
    const { dependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      dependencies?: Record<string, string>
    }
    for (const dependency of Object.keys(dependencies)) visit(dependency, folder)
  }
  for (const name of names) visit(name, from)
  return [...folders].toSorted()
}

function findInstalled(name: string, from: string): string {
  for (let folder = from; ; folder = dirname(folder)) {
    const found = join(folder, 'node_modules', name)
    if (existsSync(join(found, 'package.json'))) return found
    if (folder === dirname(folder))
      throw new Error(`[image] the package ${name} is not installed: run npm ci`)
  }
}

/** The time of the commit, so that equal sources and packages give equal bytes. */
function sourceDate(): number {
  const given = process.env['SOURCE_DATE_EPOCH']
  return Number(given ?? git('log', '-1', '--format=%ct'))
}

function git(...args: string[]): string {
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: 'pipe' }).trim()
  } catch (error) {
    throw new Error('[image] needs a clone with git, which states the commit and its time', { cause: error })
  }
}

function labelsOf({ title }: Variant, created: number): Record<string, string> {
  const { license, repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    license: string
    repository?: string
  }
  return {
    'org.opencontainers.image.title': title,
    'org.opencontainers.image.version': VERSION,
    'org.opencontainers.image.revision': git('rev-parse', 'HEAD'),
    'org.opencontainers.image.created': new Date(created * 1000).toISOString(),
    'org.opencontainers.image.licenses': license,
    ...(repository !== undefined && { 'org.opencontainers.image.source': repository }),
  }
}
