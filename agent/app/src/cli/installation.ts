/** How this program is installed. */
import { fileURLToPath } from 'node:url'
import { folderOf, isBundled } from '@cairn/tooling/beside'

/**
 * Names the kind of installation and its folder. `module` is a module of the program; `executable` is the
 * file that contains the program, or null.
 */
export function describeInstallation(module: { url: string }, executable: string | null): string {
  const folder = fileURLToPath(folderOf(module))
  if (executable !== null) return `executable ${executable}, unpacked to ${folder}`
  if (!isBundled(module)) return `sources of a clone in ${folder.replace(/agent\/app\/.*$/, '')}`
  // An image contains the bundle alone.
  return folder.includes('/node_modules/') ? `npm package in ${folder}` : `bundle in ${folder}`
}
