/**
 * Writes the files of a run's home before each of its processes. The previous process may have replaced a
 * folder or a file by a symbolic link: nothing is written through one. Nothing runs in the home
 * during the write.
 */
import { lstat, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** `files`: contents by path below the home. */
export async function writeHome(home: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(home, { recursive: true, mode: 0o700 })
  for (const [path, text] of Object.entries(files)) {
    const names = path.split('/')
    const file = names.pop() ?? ''
    let folder = home
    for (const name of names) {
      folder = join(folder, name)
      if (!(await lstatOf(folder))?.isDirectory()) {
        await rm(folder, { force: true })
        await mkdir(folder, { mode: 0o700 })
      }
    }
    await rm(join(folder, file), { recursive: true, force: true })
    await writeFile(join(folder, file), text, { mode: 0o600, flag: 'wx' })
  }
}

const lstatOf = (path: string) =>
  lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return null
  })
