/**
 * An open folder of a workspace. Every name is looked up in what was opened, never along a path: a command of
 * the agent may exchange any folder on the way for a link meanwhile. Nothing here follows a link.
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

/** Bytes where a name may be no UTF-8, which removing and copying have to cope with. */
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

// Numbers, not handles: closing one takes a thread of the pool, and a path has a folder for each segment.
const openFolder = promisify(openNumber) as (path: string | Buffer, flags: number) => Promise<number>
const fstat = promisify(fstatOf) as (fd: number) => Promise<Stats>

export class Directory implements AsyncDisposable {
  #fd: number
  /** Where it was when it was opened. */
  readonly #path: string
  #running = 0
  #idle: PromiseWithResolvers<void> | null = null

  private constructor(fd: number, path: string) {
    this.#fd = fd
    this.#path = path
  }

  /**
   * The folder of a session. The path that leads to it is the operator's and may hold links; the folder is
   * made by the service and is none.
   */
  static async open(path: string): Promise<Directory> {
    const at = addressing === 'path' ? join(await realpath(dirname(path)), basename(path)) : path
    return new Directory(await openFolder(at, FOLDER_FLAGS), at)
  }

  /** A directory of the operator's, which may be a link to another. */
  static openPlace(path: string): Promise<Directory> {
    return Directory.open(`${path}/.`)
  }

  /** For threads that read on by themselves; the descriptor stays this object's. */
  get place(): { fd: number; path: string } {
    return { fd: this.#fd, path: this.#path }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /**
   * Once what runs in it has ended: a number that is closed is soon another file's, and a call that still
   * waits for a thread would find itself there.
   */
  async close(): Promise<void> {
    while (this.#running > 0) await (this.#idle ??= Promise.withResolvers()).promise
    if (this.#fd === -1) return
    const fd = this.#fd
    this.#fd = -1
    // It has nothing to write, so it does not wait for any disk.
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

  /** Where names are reached by path only: whether the path leads to this folder, without a link. */
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
    } catch (thrown) {
      // What is told of a failure names the entry, not how it was reached.
      if (thrown instanceof Error)
        thrown.message = thrown.message.replaceAll(`${self}/`, '').replaceAll(self, '.')
      throw thrown
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

  /** What is there under a name; of a link the link. Null: nothing. */
  look(name: Name): Promise<Stats | null> {
    return this.#act(() => unlessMissing(lstat(this.#at(name))))
  }

  readLink(name: string): Promise<string> {
    return this.#act(() => readlink(this.#at(name)))
  }

  readRawLink(name: Name): Promise<Buffer> {
    return this.#act(() => readlink(this.#at(name), { encoding: 'buffer' }))
  }

  /** Fails with ENOTDIR or ELOOP where the name is a file or a link. */
  child(name: Name): Promise<Directory> {
    return this.#act(
      async () =>
        new Directory(await openFolder(this.#at(name), FOLDER_FLAGS), join(this.#path, name.toString())),
    )
  }

  /** `flags` beside those that keep a link from being followed. */
  openFile(name: Name, flags: number, mode?: number): Promise<FileHandle> {
    return this.#act(() => open(this.#at(name), flags | FILE_FLAGS, mode))
  }

  /** What is in it, by name. */
  async entries(): Promise<Entry[]> {
    const found = await this.#act(() => readdir(this.#self(), { withFileTypes: true }))
    return found.map(toEntry).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** What is in it, whatever its names are made of, in no order. */
  async rawEntries(): Promise<Entry<Buffer>[]> {
    const read = () => readdir(this.#self(), { withFileTypes: true, encoding: 'buffer' })
    return (await this.#act(read)).map(toEntry)
  }

  make(name: string, mode?: number): Promise<void> {
    return this.#act(() => mkdir(this.#at(name), mode))
  }

  /** Opens the folder of that name, made where there is none. */
  async makeChild(name: string): Promise<Directory> {
    const isNew = await this.make(name).then(
      () => true,
      (thrown: NodeJS.ErrnoException) => {
        if (thrown.code !== 'EEXIST') throw thrown
        return false
      },
    )
    const child = await this.child(name)
    if (isNew) await child.#setMode(0o777 & ~workspaceUmask())
    return child
  }

  /** Takes the place of what is there under the other name. */
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

  /** Copies a file from elsewhere, with its mode; nothing may be there under that name. */
  copyIn(source: string, name: string): Promise<void> {
    return this.#act(() => copyFile(source, this.#at(name), constants.COPYFILE_EXCL))
  }

  link(target: string, name: string): Promise<void> {
    return this.#act(() => symlink(target, this.#at(name)))
  }

  /** Gives its owner every right to it. */
  unlock(): Promise<void> {
    return this.#setMode(0o700)
  }

  /** Of the folder that is open, whatever stands under its name by now. */
  #setMode(mode: number): Promise<void> {
    return this.#act(() => chmod(this.#self(), mode))
  }
}
