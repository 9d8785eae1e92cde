/**
 * Copies a workspace for a worker and lists the copied files. Where the file system can, a file's blocks are
 * shared until one side writes it. Symbolic links are copied verbatim and never followed, so nothing from
 * outside the workspace is included.
 */
import { constants, type Stats } from 'node:fs'
import {
  chmod,
  copyFile,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readFile,
  symlink,
  unlink,
} from 'node:fs/promises'
import { join } from 'node:path'
import { addressing, descriptorPath } from './addressing.ts'
import { Directory, type Entry } from './directory.ts'
import { enterIfThere } from './folder.ts'
import { hashFile, hashOf } from './hash-file.ts'
import { unlessMissing } from './missing-file.ts'
import { changed, isLeftOut, PathProblem } from './path-problem.ts'

/** A file when it was copied. The times are those of the copy: unchanged times mean unchanged content. */
export type CopiedFile = { sha256: string; mode: number; size: number; mtime_ms: number; ctime_ms: number }
export type CopyOptions = {
  max_bytes: number
  max_files: number
  /** Top-level folders that are not copied. */
  skip: readonly string[]
  /** Files up to this size are listed with their content. */
  keep_bytes: number
  signal: AbortSignal
  onFile(path: string, file: CopiedFile, content: Buffer | null): Promise<void>
}

/** The workspace exceeds the copy limit. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge'
}

const TRIES = 5
const CHUNK = 1024 * 1024

/** `target` must not exist, and nothing else may access it. */
export async function copyWorkspace(source: string, target: string, options: CopyOptions): Promise<void> {
  const copy = new Copy(options)
  await using folder = await unlessMissing(Directory.open(source))
  if (folder === null) await mkdir(target, 0o700)
  else await copy.into(folder, target, '')
}

class Copy {
  readonly #options: CopyOptions
  #bytes = 0
  #files = 0

  constructor(options: CopyOptions) {
    this.#options = options
  }

  async into(folder: Directory, target: string, path: string): Promise<void> {
    await mkdir(target, 0o700)
    for (const entry of await folder.rawEntries()) {
      this.#options.signal.throwIfAborted()
      // A name that is not valid UTF-8 could not be written to the list.
      const name = entry.name.toString('utf8')
      if (!Buffer.from(name).equals(entry.name)) continue
      if (path === '' && this.#options.skip.includes(name)) continue
      try {
        await this.#entry(folder, { name, kind: entry.kind }, join(target, name), path + name)
      } catch (error) {
        if (!isLeftOut(error)) throw error
      }
    }
    await chmod(target, (await folder.stats()).mode & 0o777)
  }

  async #entry(folder: Directory, { name, kind }: Entry, to: string, path: string): Promise<void> {
    if (kind === 'other') return
    this.#count(kind === 'folder' ? 0 : 1)
    if (kind === 'link') await symlink(await folder.readRawLink(name), to)
    else if (kind === 'file') await this.#file(folder, name, to, path)
    else {
      await using inner = await enterIfThere(folder, name)
      if (inner !== null) await this.into(inner, to, `${path}/`)
    }
  }

  #count(files: number, bytes = 0): void {
    const { max_files, max_bytes } = this.#options
    this.#files += files
    this.#bytes += bytes
    if (this.#files > max_files)
      throw new TooLarge(`the workspace has more than ${max_files} files, the maximum for a copy`)
    if (this.#bytes > max_bytes)
      throw new TooLarge(`the workspace has more than ${max_bytes} bytes, the maximum for a copy`)
  }

  async #file(folder: Directory, name: string, to: string, path: string): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      await using source = await folder.openFile(name, constants.O_RDONLY)
      const before = await source.stat()
      if (!before.isFile()) return
      this.#count(0, before.size)
      await clone(source, before.size, to)
      if (isSame(before, await source.stat())) return await this.#tell(to, path, before.mode & 0o777)
      // It changed during the copy, so the copy may be a state that never existed.
      this.#count(0, -before.size)
      await unlink(to)
      if (tries === TRIES)
        throw new PathProblem(`'${path}' keeps changing and could not be copied`, { cause: changed() })
    }
  }

  async #tell(to: string, path: string, mode: number): Promise<void> {
    const { keep_bytes, onFile } = this.#options
    await chmod(to, mode)
    const { size, mtimeMs, ctimeMs } = await lstat(to)
    const content = size <= keep_bytes ? await readFile(to) : null
    const sha256 = content === null ? await hashAt(to) : hashOf(content)
    await onFile(path, { sha256, mode, size, mtime_ms: mtimeMs, ctime_ms: ctimeMs }, content)
  }
}

const isSame = (a: Stats, b: Stats): boolean =>
  a.size === b.size && a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs

async function hashAt(path: string): Promise<string> {
  await using handle = await open(path, 'r')
  return await hashFile(handle)
}

/** Shares the blocks where the file system can; otherwise copies the bytes. */
async function clone(source: FileHandle, size: number, to: string): Promise<void> {
  if (addressing === 'descriptor') {
    await copyFile(descriptorPath(source.fd), to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    return
  }
  await using target = await open(to, 'wx', 0o600)
  const buffer = Buffer.allocUnsafe(Math.min(size, CHUNK))
  for (let at = 0; at < size;) {
    const { bytesRead } = await source.read(buffer, 0, Math.min(CHUNK, size - at), at)
    if (bytesRead === 0) break
    await target.write(buffer, 0, bytesRead)
    at += bytesRead
  }
}
