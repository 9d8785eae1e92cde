/** The programs on a service's PATH. */
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { ServerDirs } from './server.ts'

/** Sets the service's PATH to a folder with only these programs. */
export function onlyPrograms(place: ServerDirs, programs: Readonly<Record<string, string>> = {}): ServerDirs {
  const folder = join(place.dir, 'programs')
  mkdirSync(folder)
  for (const [name, target] of Object.entries(programs)) symlinkSync(target, join(folder, name))
  return { ...place, env: { ...place.env, PATH: folder } }
}
