/**
 * Bundles each product into one folder of modules and the files that they read. Node refuses to run
 * TypeScript below node_modules, so packages cannot contain the sources.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import { build, type Metafile, type Plugin } from 'esbuild'
import { listPackages, readSourcesOf, root } from '../workspace.ts'

type Bundled = 'agent' | 'tune'

const MAIN: Record<Bundled, string> = { agent: 'agent/app/src/cli/main.ts', tune: 'tune/cli/src/main.ts' }

/**
 * Packages that are found at run time or not at all. Playwright starts its own files as processes. The others
 * are optional parts of packages that also work without them.
 */
export const OPTIONAL_PACKAGES = ['playwright-core', '@playwright/mcp'] as const
const ABSENT = ['pg-native', 'bufferutil', 'utf-8-validate', 'zlib-sync']

/** Parts of a folder that belong to a bundle, where that is not the whole folder. */
const FOLDER_PARTS: Record<string, readonly string[]> = {
  // The sources of the kernels, for machines without a prebuilt addon.
  'tune/native': ['binding', 'collectives', 'core', 'cpu', 'cuda', 'device', 'generated'],
}

/** Modules that packages do not contain, and what replaces them. */
const REPLACED: Record<string, string> = {
  'agent/app/src/cli/bench.ts': 'agent/app/src/cli/bench-in-clone.ts',
}

/** Modules of CommonJS packages call `require`, which ES modules do not have. */
const REQUIRE =
  "import { createRequire as requireFrom } from 'node:module';" +
  'const require = requireFrom(import.meta.url);'

const CALL = /\b(moduleBeside|assetBeside)\(\s*import\.meta,\s*'([^']+)'(?:,\s*'([^']+)')?\s*,?\s*\)/g

type Beside = { kind: 'module' | 'asset'; source: string; bundledAs: string }

/** What the calls of ../beside.ts in a source name, as paths from the root. */
export function besideOf(path: string, text: string): Beside[] {
  return [...text.matchAll(CALL)].map(([, call, name = '', bundledAs]) => {
    const source = join(dirname(path), name)
    return call === 'moduleBeside'
      ? { kind: 'module', source: `${source}.ts`, bundledAs: `${basename(source)}.mjs` }
      : { kind: 'asset', source, bundledAs: bundledAs ?? basename(source) }
  })
}

/** Writes the bundle of a product to `folder`. Returns the modules in it, for their licences. */
export async function bundle(product: Bundled, folder: string): Promise<Metafile> {
  rmSync(folder, { recursive: true, force: true })
  const found = listPackages(product)
    .flatMap(pkg => readSourcesOf(product, pkg))
    .filter(({ isTest }) => !isTest)
    .flatMap(({ path, text }) => besideOf(path, text))
  const modules = found.filter(({ kind }) => kind === 'module')
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [MAIN[product], ...new Set(modules.map(({ source }) => source))].map(source => ({
      in: source,
      out: basename(source, '.ts'),
    })),
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    chunkNames: 'chunk-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    external: [...OPTIONAL_PACKAGES, ...ABSENT],
    banner: { js: REQUIRE },
    plugins: [replaceModules],
    // Names stay, because stack traces and log lines contain them.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  })
  if (product === 'tune') copyNodeHeaders(folder)
  for (const asset of found.filter(({ kind }) => kind === 'asset')) copyAsset(asset, folder)
  return metafile
}

const replaceModules: Plugin = {
  name: 'replace modules that packages do not contain',
  setup({ onLoad }) {
    for (const [path, replacement] of Object.entries(REPLACED)) {
      const filter = new RegExp(`${path.replaceAll('.', '\\.').replaceAll('/', '[\\\\/]')}$`)
      onLoad({ filter }, () => ({
        contents: readFileSync(join(root, replacement), 'utf8'),
        loader: 'ts',
        resolveDir: dirname(join(root, replacement)),
      }))
    }
  },
}

function copyAsset({ source, bundledAs }: Beside, folder: string): void {
  const from = join(root, source)
  if (!existsSync(from)) throw new Error(`[bundle] ${source} is missing: npm run build:web creates the page`)
  const parts = FOLDER_PARTS[source.replace(/\/$/, '')]
  mkdirSync(folder, { recursive: true })
  if (parts === undefined || !statSync(from).isDirectory())
    return cpSync(from, join(folder, bundledAs), { recursive: true, filter: isShipped })
  for (const part of parts)
    cpSync(join(from, part), join(folder, bundledAs, part), { recursive: true, filter: isShipped })
}

/** What a build of the kernels includes (tune/native/src/build.ts). */
const copyNodeHeaders = (folder: string): void =>
  cpSync(join(root, 'node_modules/node-api-headers/include'), join(folder, 'native/include'), {
    recursive: true,
  })

/** Golden files of tests and stamps of builds stay behind. */
const isShipped = (path: string): boolean =>
  !relative(root, path)
    .split(sep)
    .some((name, at, names) => (at === names.length - 1 && name.startsWith('.')) || name.includes('.golden.'))
