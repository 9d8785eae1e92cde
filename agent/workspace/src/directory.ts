/**
 * An open folder of a workspace. Names are resolved in the opened folder and never along a path, because a
 * command of the agent may replace any folder of the path by a symbolic link at any time. Nothing here
 * follows a symbolic link.
 */
import { closeSync, fstat as fstatOf, open as openNumber, type Stats } from 'node:fs'
import {
  chmod,
  constants,
  copyFile,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  readlink,
  realpath,
  rename,
  rmdir,
  stat,
  symlink,
  unlink,
} from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { addressing, descriptorPath, FILE_FLAGS, FOLDER_FLAGS } from './addressing.ts'
import { unlessMissing } from './missing-file.ts'
import { changed } from './path-problem.ts'
import { workspaceUmask } from './umask.ts'

/** Bytes for names that may not be UTF-8, which removing and copying must handle. */
export type Name = string | Buffer
export type Entry<N extends Name = string> = { name: N; kind: 'file' | 'folder' | 'link' | 'other' }

type Listed<N> = { name: N } & Record<'isFile' | 'isDirectory' | 'isSymbolicLink', () => boolean>

const toEntry = <N extends Name>(entry: Listed<N>): Entry<N> => ({
  name: entry.name,
  kind: entry.isFile() ? 'file' : entry.isDirectory() ? 'folder' : entry.isSymbolicLink() ? 'link' : 'other',
})

function checkName(name: Name): void {
  const text = name.toString()
  if (text === '' || text === '.' || text === '..' || text.includes('/') || text.includes('\0'))
    throw new Error(`[Directory] ${JSON.stringify(text)} is not the name of an entry`)
}

// Descriptors, not FileHandles: closing a handle takes a thread of the pool, and a path opens a folder for
// each segment.
const openFolder = promisify(openNumber) as (path: string | Buffer, flags: number) => Promise<number>
const fstat = promisify(fstatOf) as (fd: number) => Promise<Stats>

export class Directory implements AsyncDisposable {
  #fd: number
  /** The path when it was opened. */
  readonly #path: string
  #running = 0
  #idle: PromiseWithResolvers<void> | null = null

  private constructor(fd: number, path: string) {
    this.#fd = fd
    this.#path = path
  }

  /**
   * The folder of a session. The path to it belongs to the operator and may contain symbolic links; the
   * folder itself was created by the service and must not be one.
   */
  static async open(path: string): Promise<Directory> {
    const at = addressing === 'path' ? join(await realpath(dirname(path)), basename(path)) : path
    return new Directory(await openFolder(at, FOLDER_FLAGS), at)
  }

  /** A directory of the operator, which may be a symbolic link. */
  static openPlace(path: string): Promise<Directory> {
    return Directory.open(`${path}/.`)
  }

  /** For synchronous readers in another thread; the descriptor still belongs to this object. */
  get place(): { fd: number; path: string } {
    return { fd: this.#fd, path: this.#path }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /**
   * Waits for running calls first: a closed descriptor is soon reused, and a call that waits for a thread
   * would then act on another file.
   */
  async close(): Promise<void> {
    while (this.#running > 0) await (this.#idle ??= Promise.withResolvers()).promise
    if (this.#fd === -1) return
    const fd = this.#fd
    this.#fd = -1
    // Nothing was written, so closing does not wait for the disk.
    closeSync(fd)
  }

  #self(): string {
    if (this.#fd === -1) throw new Error('[Directory] used after it was closed')
    return addressing === 'descriptor' ? descriptorPath(this.#fd) : this.#path
  }

  #at(name: string): string
  #at(name: Name): string | Buffer
  #at(name: Name): string | Buffer {
    checkName(name)
    const folder = `${this.#self()}/`
    return typeof name === 'string' ? folder + name : Buffer.concat([Buffer.from(folder), name])
  }

  /**
   * If names are reached by path: checks that the path still leads to this folder, without a symbolic link.
   */
  async #confirm(): Promise<void> {
    const [now, own] = [await stat(this.#path), await fstat(this.#fd)]
    if ((await realpath(this.#path)) !== this.#path || now.ino !== own.ino || now.dev !== own.dev)
      throw changed()
  }

  async #act<T>(act: () => Promise<T>): Promise<T> {
    const self = this.#self()
    this.#running += 1
    try {
      if (addressing === 'descriptor') return await act()
      await this.#confirm()
      const done = await act()
      await this.#confirm()
      return done
    } catch (error) {
      // Error messages name the entry, not the descriptor path.
      if (error instanceof Error)
        error.message = error.message.replaceAll(`${self}/`, '').replaceAll(self, '.')
      throw error
    } finally {
      this.#running -= 1
      if (this.#running === 0) {
        this.#idle?.resolve()
        this.#idle = null
      }
    }
  }

  stats(): Promise<Stats> {
    return this.#act(() => fstat(this.#fd))
  }

  /** lstat of a name; null if it does not exist. */
  look(name: Name): Promise<Stats | null> {
    return this.#act(() => unlessMissing(lstat(this.#at(name))))
  }

  readLink(name: string): Promise<string> {
    return this.#act(() => readlink(this.#at(name)))
  }

  readRawLink(name: Name): Promise<Buffer> {
    return this.#act(() => readlink(this.#at(name), { encoding: 'buffer' }))
  }

  /** Fails with ENOTDIR or ELOOP if the name is a file or a symbolic link. */
  child(name: Name): Promise<Directory> {
    return this.#act(
      async () =>
        new Directory(await openFolder(this.#at(name), FOLDER_FLAGS), join(this.#path, name.toString())),
    )
  }

  /** `flags` are added to those that prevent following a symbolic link. */
  openFile(name: Name, flags: number, mode?: number): Promise<FileHandle> {
    return this.#act(() => open(this.#at(name), flags | FILE_FLAGS, mode))
  }

  /** The entries, sorted by name. */
  async entries(): Promise<Entry[]> {
    const found = await this.#act(() => readdir(this.#self(), { withFileTypes: true }))
    return found.map(toEntry).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** The entries with names as bytes, unsorted. */
  async rawEntries(): Promise<Entry<Buffer>[]> {
    const read = () => readdir(this.#self(), { withFileTypes: true, encoding: 'buffer' })
    return (await this.#act(read)).map(toEntry)
  }

  make(name: string, mode?: number): Promise<void> {
    return this.#act(() => mkdir(this.#at(name), mode))
  }

  /** Opens the folder of that name; creates it if it is missing. */
  async makeChild(name: string): Promise<Directory> {
    const isNew = await this.make(name).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
        return false
      },
    )
    const child = await this.child(name)
    if (isNew) await child.#setMode(0o777 & ~workspaceUmask())
    return child
  }

  /** Replaces an existing entry of the new name. */
  rename(from: string, to: string): Promise<void> {
    return this.#act(() => rename(this.#at(from), this.#at(to)))
  }

  moveTo(name: Name, target: Directory, as: string): Promise<void> {
    return this.#act(() => target.#act(() => rename(this.#at(name), target.#at(as))))
  }

  unlink(name: Name): Promise<void> {
    return this.#act(() => unlink(this.#at(name)))
  }

  removeFolder(name: Name): Promise<void> {
    return this.#act(() => rmdir(this.#at(name)))
  }

  /** Copies a file from another place, with its mode; the name must not exist. */
  copyIn(source: string, name: string): Promise<void> {
    return this.#act(() => copyFile(source, this.#at(name), constants.COPYFILE_EXCL))
  }

  link(target: string, name: string): Promise<void> {
    return this.#act(() => symlink(target, this.#at(name)))
  }

  /** Gives the owner all permissions. */
  unlock(): Promise<void> {
    return this.#setMode(0o700)
  }

  /** Changes the open folder, not what has its name now. */
  #setMode(mode: number): Promise<void> {
    return this.#act(() => chmod(this.#self(), mode))
  }
}
