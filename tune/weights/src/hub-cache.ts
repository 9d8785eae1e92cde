/**
 * The Hugging Face hub's cache, in huggingface_hub's layout: blobs by hash, snapshots of links to them, refs
 * from names to commits.
 */
import { readFile, readdir, stat, symlink, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { writeTextAtomically } from './atomic-file.ts'
import { isMissing, makeDirectories } from './fs-errors.ts'

export type Environment = Readonly<Record<string, string | undefined>>
export type RepoType = 'model' | 'dataset'
export type Repo = { type: RepoType; id: string }

const filled = (value: string | undefined) => (value === undefined || value === '' ? undefined : value)

const homeOf = (env: Environment) =>
  filled(env['HF_HOME']) ?? join(filled(env['XDG_CACHE_HOME']) ?? join(homedir(), '.cache'), 'huggingface')

/** Root of downloaded repositories. */
export const hubCacheRoot = (env: Environment) =>
  filled(env['HF_HUB_CACHE']) ?? filled(env['HUGGINGFACE_HUB_CACHE']) ?? join(homeOf(env), 'hub')

/** A repository's folder in the cache. */
export const repoFolder = (env: Environment, { type, id }: Repo) =>
  join(hubCacheRoot(env), `${type}s--${id.replaceAll('/', '--')}`)

/** The token for private and gated repositories, if there is one. */
export async function hubToken(env: Environment): Promise<string | undefined> {
  const given = filled(env['HF_TOKEN']) ?? filled(env['HUGGING_FACE_HUB_TOKEN'])
  if (given !== undefined) return given
  return filled((await readText(filled(env['HF_TOKEN_PATH']) ?? join(homeOf(env), 'token')))?.trim())
}

async function readText(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw error
  })
}

/** The snapshot of a revision (a branch, tag or commit), if it is in the cache. */
export async function findSnapshot(folder: string, revision: string): Promise<string | undefined> {
  const commit = (await readText(join(folder, 'refs', revision)))?.trim() ?? revision
  const path = join(folder, 'snapshots', commit)
  return (await isDirectory(path)) ? path : undefined
}

export async function isDirectory(path: string): Promise<boolean> {
  return (await statOf(path))?.isDirectory() === true
}

/** A link whose blob is gone counts as missing. */
export async function isFile(path: string): Promise<boolean> {
  return (await statOf(path))?.isFile() === true
}

const statOf = (path: string) =>
  stat(path).catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw error
  })

/** Names of a snapshot's files, including folders, without links to missing blobs. */
export async function listSnapshot(path: string): Promise<string[]> {
  const entries = await readdir(path, { recursive: true })
  const found = await Promise.all(entries.map(async name => ((await isFile(join(path, name))) ? [name] : [])))
  return found.flat().toSorted()
}

/** Links a snapshot's file to its blob, replacing a broken link. */
export async function linkBlob(snapshot: string, name: string, blob: string): Promise<void> {
  const link = join(snapshot, name)
  await makeDirectories(dirname(link))
  await rm(link, { force: true })
  await symlink(relative(dirname(link), blob), link)
}

/** Records the commit of a branch or tag. */
export async function writeRef(folder: string, revision: string, commit: string): Promise<void> {
  if (revision === commit) return
  const path = join(folder, 'refs', revision)
  await makeDirectories(dirname(path))
  await writeTextAtomically(path, commit)
}
