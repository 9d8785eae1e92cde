/** The programs of a rehearsal: packages of this tree and of an earlier commit, each unpacked in a folder. */
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { MIGRATION_FOLDERS, nextMigration, readMigrationFolder } from '@cairn/log/test/newer-schema'
import { buildCommands, pack } from '../../tooling/release/packages.ts'
import { root } from '../../tooling/workspace.ts'
import type { Program } from '../chaos/fleet.ts'

export type Release = {
  /** For the table: a commit, a file, "this tree". */
  name: string
  program: Program
  /** Schema versions of both stores. */
  schema: Record<'sqlite' | 'postgres', number>
  /** Whether it runs on a newer schema that allows it. Programs from before that rule do not. */
  mayRunOnNewer: boolean
  /** The folder of an unpacked package; null for a program that runs from its sources. */
  folder: string | null
  /** The sources, if there are any. */
  checkout: string | null
}
type Sources = { name: string; checkout: string | null }

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()

const isTarball = (from: string): boolean => from.endsWith('.tgz')

/**
 * The commit to upgrade from if none is named: the newest release, else the commit before the newest
 * migration but the first, else the newest commit.
 */
export function defaultFrom(): string {
  const [release] = git('tag', '--list', 'v*', '--merged', 'HEAD', '--sort=-version:refname').split('\n')
  if (release) return release
  const migrations = ['agent/log/src/*/migrations/*.sql', ':!*.golden.sql', ':!*/0001_*.sql']
  const added = git('log', '--diff-filter=A', '--format=%H', '-1', '--', ...migrations)
  return added === '' ? 'HEAD' : `${added}^`
}

/** Builds and unpacks the package of a commit, or unpacks a tarball. */
export function previousRelease(from: string, { kept, own }: Folders): Release {
  if (isTarball(from)) {
    const file = resolve(process.env['INIT_CWD'] ?? process.cwd(), from)
    return unpack(file, join(own, 'previous'), { name: basename(file), checkout: null })
  }
  const commit = git('rev-parse', '--short=12', `${from}^{commit}`)
  const checkout = checkOut(commit, join(kept, commit))
  const { scripts } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  if (scripts['release'] === undefined) return fromSources({ name: `${commit} (sources)`, checkout })
  if (tarballOf(checkout) === undefined)
    execFileSync(process.execPath, ['tooling/run.mjs', 'release', '--only', 'npm'], {
      cwd: checkout,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  return unpack(tarballOf(checkout) ?? '', join(own, 'previous'), { name: commit, checkout })
}

/** Builds, packs and unpacks the package of this tree. */
export async function ownRelease({ own }: Folders): Promise<Release> {
  const built = join(own, 'built')
  await buildCommands(built)
  const file = join(own, pack(built, own))
  return unpack(file, join(own, 'new'), { name: 'this tree', checkout: root })
}

const tarballOf = (checkout: string): string | undefined =>
  globSync('out/npm/*.tgz', { cwd: checkout })
    .map(path => join(checkout, path))
    .find(path => !/-(?:client|protocol)-[\d.]+\.tgz$/.test(path))

/** A clean clone of the commit, with the packages of this tree if it needs the same ones. */
function checkOut(commit: string, folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder
  rmSync(folder, { recursive: true, force: true })
  git('clone', '--quiet', '--shared', '--no-checkout', root, folder)
  execFileSync('git', ['checkout', '--quiet', '--detach', commit], { cwd: folder, stdio: 'inherit' })
  const lockOf = (tree: string): string => readFileSync(join(tree, 'package-lock.json'), 'utf8')
  // With another lock file its own scripts run npm ci.
  if (lockOf(folder) === lockOf(root)) linkPackages(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** Packages of the workspace are relative links, so that a copy of a link leads to the other tree. */
function linkPackages(from: string, to: string): void {
  mkdirSync(to)
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (/^\.(?:cache|vite|vitest)/.test(entry.name)) continue
    if (entry.isFile()) cpSync(source, target)
    else if (entry.name.startsWith('@cairn')) {
      mkdirSync(target)
      for (const name of readdirSync(source))
        symlinkSync(readlinkSync(join(source, name)), join(target, name))
    } else symlinkSync(source, target)
  }
}

function unpack(tarball: string, folder: string, sources: Sources): Release {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1'], { stdio: 'inherit' })
  return describePackage(folder, sources)
}

const describePackage = (folder: string, sources: Sources): Release => ({
  ...sources,
  folder,
  program: [process.execPath, join(folder, 'bin/cairn.mjs')],
  ...schemaOf(store => join(folder, 'agent', MIGRATION_FOLDERS[store])),
})

const fromSources = ({ name, checkout }: { name: string; checkout: string }): Release => ({
  name,
  checkout,
  folder: null,
  program: [process.execPath, join(checkout, 'agent/app/src/cli/main.ts')],
  ...schemaOf(store => join(checkout, 'agent/log/src', store, 'migrations')),
})

function schemaOf(
  folderOf: (store: 'sqlite' | 'postgres') => string,
): Pick<Release, 'schema' | 'mayRunOnNewer'> {
  const files = (store: 'sqlite' | 'postgres'): string[] =>
    readdirSync(folderOf(store))
      .filter(name => /^\d{4}_.+\.sql$/.test(name) && !name.includes('.golden.'))
      .toSorted()
  const version = (store: 'sqlite' | 'postgres'): number => Number(files(store).at(-1)?.slice(0, 4))
  const [first = ''] = files('sqlite')
  return {
    schema: { sqlite: version('sqlite'), postgres: version('postgres') },
    mayRunOnNewer: readFileSync(join(folderOf('sqlite'), first), 'utf8').startsWith('-- Oldest program: '),
  }
}

/**
 * A copy of a package that differs as a later release does: one more migration on each store, and another
 * fold, whose snapshots the original ignores. `removes`: the migration does not allow older programs.
 */
export function laterRelease(release: Release, { own }: Folders, { removes = false } = {}): Release {
  if (release.folder === null) throw new Error('[rehearsal] a later release is made of a package')
  const folder = join(own, removes ? 'removing' : 'later')
  rmSync(folder, { recursive: true, force: true })
  cpSync(release.folder, folder, { recursive: true })
  for (const store of ['sqlite', 'postgres'] as const) {
    const migrations = join(folder, 'agent', MIGRATION_FOLDERS[store])
    const own = readMigrationFolder(migrations)
    const { name, sql } = nextMigration(store, own, removes ? release.schema[store] + 1 : undefined)
    writeFileSync(join(migrations, name), sql)
  }
  const changed = globSync('agent/*.mjs', { cwd: folder }).filter(path => changeFold(join(folder, path)))
  if (changed.length === 0) throw new Error('[rehearsal] the package names no version of the fold')
  return describePackage(folder, {
    name: `${release.name}, with ${removes ? 'a removing' : 'one more'} migration and another fold`,
    checkout: release.checkout,
  })
}

const FOLD = /\bFOLD_VERSION ?= ?["'`]([0-9a-f]{16})["'`]/

function changeFold(path: string): boolean {
  const text = readFileSync(path, 'utf8')
  const found = FOLD.exec(text)?.[1]
  if (found === undefined) return false
  writeFileSync(path, text.replaceAll(found, [...found].toReversed().join('')))
  return true
}

/** `kept`: for the packages of commits, which later runs use again. `own`: for those of this run only. */
export type Folders = { kept: string; own: string }

export function makeFolders(): Folders {
  const kept = join(root, 'out/rehearsal')
  mkdirSync(kept, { recursive: true })
  const own = mkdtempSync(join(kept, 'run-'))
  process.once('exit', () => rmSync(own, { recursive: true, force: true }))
  return { kept, own }
}
