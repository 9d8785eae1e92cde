/** The programs that a service finds. */
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { ServerDirs } from './server.ts'

/** PATH of the service: a folder with nothing but these. */
export function onlyPrograms(place: ServerDirs, programs: Readonly<Record<string, string>> = {}): ServerDirs {
  const folder = join(place.dir, 'programs')
  mkdirSync(folder)
  for (const [name, target] of Object.entries(programs)) symlinkSync(target, join(folder, name))
  return { ...place, env: { ...place.env, PATH: folder } }
}
