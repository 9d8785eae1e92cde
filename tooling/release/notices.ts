/** The licences of the packages in a bundle. */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Metafile } from 'esbuild'
import { root } from '../workspace.ts'

export type Licensed = { name: string; version: string; license: string; text: string }

/** Licences that only require their notice to be kept. */
const ALLOWED = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Unlicense',
]

/** Packages whose licence was reviewed by a person, because it is not in the list or not stated. */
const REVIEWED: Record<string, string> = {
  // Part of mermaid, unmodified. The source is in the package of the same name and version.
  elkjs: 'EPL-2.0',
  // package.json states none; the file `license` is MIT.
  khroma: 'MIT',
}

/** Whether one of the alternatives of an SPDX expression is allowed. */
const isAllowed = (license: string): boolean =>
  license
    .replaceAll(/[()]/g, '')
    .split(' OR ')
    .some(each => ALLOWED.includes(each))

/** The packages of which a bundle contains a module. */
export function licensesOf({ inputs }: Pick<Metafile, 'inputs'>): Licensed[] {
  const folders = Object.keys(inputs).flatMap(path => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [])
  return [...new Set(folders)].map(folder => readPackage(join(root, folder)))
}

function readPackage(folder: string): Licensed {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    name: string
    version: string
    license?: string
  }
  const file = readdirSync(folder).find(each => /^licen[cs]e/i.test(each))
  const text = file === undefined ? '' : readFileSync(join(folder, file), 'utf8')
  return { name, version, license: license ?? 'none stated', text }
}

/** The packages in the built page; Vite lists them. */
export function licensesOfPage(): Licensed[] {
  const path = join(root, 'agent/web/dist/.vite/licenses.json')
  if (!existsSync(path)) throw new Error('[notices] agent/web/dist is missing: run npm run build:web')
  const listed = JSON.parse(readFileSync(path, 'utf8')) as {
    name: string
    version: string
    identifier: string | null
    text: string | null
  }[]
  return listed.map(({ name, version, identifier, text }) => ({
    name,
    version,
    license: identifier ?? 'none stated',
    text: text ?? '',
  }))
}

/** Names and versions of the crates in tokenizers.wasm. */
function crates(): string[] {
  const lock = readFileSync(join(root, 'tune/tokenizers/rust/Cargo.lock'), 'utf8')
  return [...lock.matchAll(/name = "(.+)"\nversion = "(.+)"\nsource/g)].map(
    ([, name, version]) => `${name} ${version}`,
  )
}

const titleOf = ({ name, license }: Licensed): string => `${name} (${license})`

/** The file THIRD_PARTY_NOTICES. Throws if a licence is not allowed. */
export function noticesText(packages: readonly Licensed[]): string {
  const refused = packages.filter(
    ({ name, license }) => !isAllowed(license) && !Object.hasOwn(REVIEWED, name),
  )
  if (refused.length > 0)
    throw new Error(
      `[notices] licences that are not allowed: ${refused.map(titleOf).join(', ')}. ` +
        'Remove the package, or add the licence to ALLOWED after a review.',
    )
  const byName = new Map(packages.map(each => [`${each.name} ${each.version}`, each]))
  const sections = [...byName.entries()]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([title, { license, text }]) => `${title} (${license})\n${'-'.repeat(title.length)}\n${text.trim()}\n`,
    )
  return (
    `Packages of Cairn contain code of these projects.\n\n${sections.join('\n')}\n` +
    `tokenizers.wasm contains these crates. Their licences are in the registry of Rust:\n` +
    `${crates().join('\n')}\n`
  )
}
