/**
 * `npm run version X.Y.Z`: writes the version to each file that contains it, moves the lines of "Unreleased"
 * in the changelog under it, and records the contract that it releases.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../workspace.ts'

/** Documents that programs depend on. A change after a release needs a line in the changelog. */
const CONTRACT = ['docs/contract.md', 'docs/events.md', 'docs/openapi.json']
const RECORD = 'tooling/release/released-contract.json'
const HELM = 'deploy/helm'
const PYPROJECT = 'clients/python/pyproject.toml'
const VERSION_IN_MANIFEST =
  /(?<=helm\.sh\/chart: cairn-|app\.kubernetes\.io\/version: |image: cairn:)\d+\.\d+\.\d+/g

/** The version as each file states it. */
export function statedVersions(folder: string): Record<string, string | undefined> {
  const read = (path: string): string => readFileSync(join(folder, path), 'utf8')
  const lock = JSON.parse(read('package-lock.json')) as {
    version: string
    packages: Record<string, { version?: string }>
  }
  return {
    'package.json': (JSON.parse(read('package.json')) as { version: string }).version,
    'package-lock.json': lock.version,
    'package-lock.json, packages': lock.packages['']?.version,
    'tooling/version.ts': /VERSION = '(.+)'/.exec(read('tooling/version.ts'))?.[1],
    'pyproject.toml': /^version = "(.+)"$/m.exec(read(PYPROJECT))?.[1],
    'Chart.yaml': /^version: (.+)$/m.exec(read(`${HELM}/cairn/Chart.yaml`))?.[1],
    'Chart.yaml, appVersion': /^appVersion: "(.+)"$/m.exec(read(`${HELM}/cairn/Chart.yaml`))?.[1],
  }
}

/** The newest released version in a changelog; undefined before the first release. */
export const newestRelease = (changelog: string): string | undefined =>
  /^## (\d+\.\d+\.\d+) - \d{4}-\d{2}-\d{2}$/m.exec(changelog)?.[1]

/** The lines under "Unreleased". */
export function unreleased(changelog: string): string {
  const [, text] = /^## Unreleased\n([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(changelog) ?? []
  if (text === undefined) throw new Error('CHANGELOG.md has no heading "## Unreleased"')
  return text.trim()
}

/** Moves the lines of "Unreleased" under a version. */
export function releaseChangelog(changelog: string, version: string, date: string): string {
  const lines = unreleased(changelog)
  if (lines === '') throw new Error(`CHANGELOG.md lists nothing under "Unreleased" to release as ${version}`)
  return changelog.replace(/^## Unreleased\n/m, `## Unreleased\n\n## ${version} - ${date}\n`)
}

const contractHashes = (folder: string): Record<string, string> =>
  Object.fromEntries(
    CONTRACT.map(path => [
      path,
      createHash('sha256')
        .update(readFileSync(join(folder, path)))
        .digest('hex'),
    ]),
  )

/** Documents of the contract that differ from the last release. */
export function changedContract(folder: string): string[] {
  const record = join(folder, RECORD)
  const released = existsSync(record)
    ? (JSON.parse(readFileSync(record, 'utf8')) as Record<string, string>)
    : {}
  return Object.entries(contractHashes(folder)).flatMap(([path, hash]) =>
    released[path] === hash ? [] : [path],
  )
}

export function setVersion(folder: string, version: string, date: string): void {
  if (!/^\d+\.\d+\.\d+$/.test(version))
    throw new Error(`Invalid version "${version}": must be three numbers such as 0.2.0`)
  const edit = (path: string, change: (text: string) => string): void => {
    const file = join(folder, path)
    writeFileSync(file, change(readFileSync(file, 'utf8')))
  }
  // The changelog first: it refuses a release without lines.
  edit('CHANGELOG.md', text => releaseChangelog(text, version, date))
  edit('package.json', text => text.replace(/"version": ".+"/, `"version": "${version}"`))
  // The first two are those of the root; the other packages are never published under their own version.
  edit('package-lock.json', text => {
    let count = 0
    return text.replaceAll(/"version": ".+"/g, found => (count++ < 2 ? `"version": "${version}"` : found))
  })
  edit('tooling/version.ts', text => text.replace(/VERSION = '.+'/, `VERSION = '${version}'`))
  edit(PYPROJECT, text => text.replace(/^version = ".+"/m, `version = "${version}"`))
  edit(`${HELM}/cairn/Chart.yaml`, text =>
    text
      .replace(/^version: .+/m, `version: ${version}`)
      .replace(/^appVersion: .+/m, `appVersion: "${version}"`),
  )
  // The recorded manifests of the chart contain its version in labels and the name of the image.
  for (const name of readdirSync(join(folder, HELM, 'golden')))
    edit(`${HELM}/golden/${name}`, text => text.replaceAll(VERSION_IN_MANIFEST, version))
  writeFileSync(join(folder, RECORD), `${JSON.stringify(contractHashes(folder), null, 2)}\n`)
}

if (import.meta.main) {
  const [version = ''] = process.argv.slice(2)
  setVersion(root, version, new Date().toISOString().slice(0, 10))
  console.log(`The version is ${version}. Commit the changes, then run npm run release.`)
}
