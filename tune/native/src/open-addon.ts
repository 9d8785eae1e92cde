/**
 * Finds and loads an addon: the file of CAIRN_TUNE_ADDON, the prebuilt one of this platform, or one built on
 * this machine. A prebuilt addon of other sources, or one that this system cannot load, is skipped.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { NAMES } from '@cairn/tooling/names'
import { buildAddon, sourcesHash, type AddonParts } from './build.ts'

export type OpenedAddon = {
  addon: unknown
  /** The file of the addon and the reason for choosing it, in one line. */
  origin: string
}

export type OpenOptions = {
  parts: AddonParts
  log?: (line: string) => void
  /** A file that replaces all others. */
  file?: string | undefined
  /** The folder of a prebuilt package; undefined if none is installed. */
  prebuilt?: string | undefined
  /** Builds the addon and returns its path. */
  build?: () => Promise<string>
}

const require = createRequire(import.meta.url)

export async function openAddon(options: OpenOptions): Promise<OpenedAddon> {
  const { parts, log, file, prebuilt, build = () => buildAddon({ parts, ...(log && { log }) }) } = options
  if (file !== undefined) return { addon: require(file), origin: `${file}, named by CAIRN_TUNE_ADDON` }
  const found = prebuilt === undefined ? `no ${packageName()} is installed` : openPrebuilt(prebuilt, parts)
  if (typeof found !== 'string') return found
  if (prebuilt !== undefined) log?.(`The prebuilt kernels are not used: ${found}`)
  const path = await build()
  return { addon: require(path), origin: `${path}, built on this machine: ${found}` }
}

/** The addon, or why it is not used. */
function openPrebuilt(folder: string, parts: AddonParts): OpenedAddon | string {
  const { sources } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    sources: Record<string, string>
  }
  if (sources[parts.name] !== sourcesHash(parts)) return `${folder} was built from other sources`
  const path = join(folder, `${parts.name}.node`)
  try {
    return { addon: require(path), origin: `${path}, prebuilt` }
  } catch (error) {
    return `this system cannot load ${path}: ${error instanceof Error ? error.message : String(error)}`
  }
}

const packageName = (): string => `${NAMES.kernels}-${process.platform}-${process.arch}`

/** The folder of the installed package with prebuilt addons for this platform. */
export function findPrebuilt(): string | undefined {
  try {
    return dirname(require.resolve(`${packageName()}/package.json`))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND') return undefined
    throw error
  }
}
