/** Files between a browser and the workspace. The browser's sandbox does not see the workspace itself. */
import { constants } from 'node:fs'
import { open, readdir, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { locate, openFile, replaceFile } from '@cairn/workspace'

/** Maximum size of a file in either direction. */
const MAX_BYTES = 100 * 2 ** 20
const MAX_FILES = 50

/** Copies workspace files to where the browser can read them; returns their paths there. */
export async function layOutUploads(
  folder: string,
  workspace: string,
  paths: readonly string[],
): Promise<string[]> {
  const place = join(folder, 'seen', 'uploads')
  for (const name of await readdir(place)) await rm(join(place, name), { force: true })
  const laid: string[] = []
  for (const [at, path] of paths.entries()) {
    await using found = await locate(workspace, path, 'read')
    await using file = await openFile(found)
    if (file.stats.size > MAX_BYTES) throw new Error(`'${path}' is larger than 100 MB`)
    // The site sees the file name, and several files may share one.
    const target = join(
      place,
      laid.some(other => basename(other) === basename(path)) ? `${at}-${basename(path)}` : basename(path),
    )
    await writeFile(target, await file.read(MAX_BYTES), { flag: 'wx' })
    laid.push(target)
  }
  return laid
}

/** A name without folders, control characters and a leading dot. */
const cleanName = (name: string): string =>
  basename(name)
    .replaceAll(/[\p{Cc}<>:"|?*\\/]/gu, '_')
    .replace(/^\.+/, '_')
    .slice(0, 150) || 'file'

/**
 * Moves what the package left in its folder into the workspace: images into `screenshots`, everything else
 * into `downloads`. Drops them if the workspace is full.
 */
export async function keepFiles(
  folder: string,
  workspace: string,
  full: string | null,
): Promise<{ from: string; path: string }[]> {
  const output = join(folder, 'output')
  const kept: { from: string; path: string }[] = []
  for (const name of (await readdir(output)).slice(0, MAX_FILES)) {
    const file = join(output, name)
    const content = full === null ? await readRegular(file) : null
    await rm(file, { force: true, recursive: true })
    if (content === null) continue
    const isPicture = /^page-[\d-]+T[\w-]+\.(?:png|jpe?g)$/.test(name)
    const path = `${isPicture ? 'screenshots' : 'downloads'}/${cleanName(name)}`
    await using at = await locate(workspace, path, 'write')
    await replaceFile(at, content)
    kept.push({ from: name, path })
  }
  return kept
}

/** Null if it is not a regular file, or too large. */
async function readRegular(file: string): Promise<Buffer | null> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stats = await handle.stat()
    return stats.isFile() && stats.size <= MAX_BYTES ? await handle.readFile() : null
  } finally {
    await handle.close()
  }
}
