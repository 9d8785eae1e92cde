/** Runs npm: the one that runs this program, or else the one on the path. */
import { execFileSync } from 'node:child_process'

/** Runs npm in a folder and returns its stdout. Its messages go to stderr. */
export function runNpm(args: readonly string[], cwd: string): string {
  const npm = process.env['npm_execpath']
  const [command, own] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []]
  return execFileSync(command, [...own, ...args], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

/** Packs a folder, or a package of the registry, into `to`. Returns the name of the tarball. */
export function packWithNpm(what: readonly string[], to: string, cwd: string): string {
  const text = runNpm(['pack', '--json', '--ignore-scripts', '--pack-destination', to, ...what], cwd)
  const [packed] = Object.values(JSON.parse(text) as Record<string, { filename: string }>)
  if (packed === undefined) throw new Error(`[npm] npm pack reported no tarball for ${what.join(' ') || cwd}`)
  return packed.filename
}
