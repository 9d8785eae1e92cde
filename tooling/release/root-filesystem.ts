/** The Debian system of an image, as a tar archive. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../workspace.ts'

const SUITE = 'bookworm'
const USER = 'cairn'
/** The user and the group of the service. */
export const USER_ID = 10001

/** Licences of packages stay, because the image contains the packages. */
const EXCLUDED = [
  'path-exclude=/usr/share/man/*',
  'path-exclude=/usr/share/info/*',
  'path-exclude=/usr/share/locale/*',
  'path-exclude=/usr/share/doc/*',
  'path-include=/usr/share/doc/*/copyright',
]

/** Files that differ from machine to machine or from run to run, and what only a package manager reads. */
const REMOVED = [
  'var/cache/apt',
  'var/cache/debconf/*-old',
  'var/cache/ldconfig/aux-cache',
  'var/lib/apt',
  'var/log/*',
  'etc/machine-id',
]
const EMPTIED = ['etc/hostname', 'etc/resolv.conf']

type Options = {
  packages: readonly string[]
  /** Folders that the user owns. */
  volumes: readonly string[]
  /** Seconds since 1970: no file is newer. */
  created: number
}

/** Installs the newest packages of Debian into `file`. Throws what mmdebstrap reports. */
export function buildRootFilesystem({ packages, volumes, created }: Options, file: string): void {
  mkdirSync(dirname(file), { recursive: true })
  rmSync(file, { force: true })
  const [home = '/'] = volumes
  const hooks = [
    // No password fits "*".
    `echo '${USER}:*:${USER_ID}:${USER_ID}::${home}:/usr/sbin/nologin' >>"$1/etc/passwd"`,
    `echo '${USER}:*:${USER_ID}:' >>"$1/etc/group"`,
    ...volumes.map(path => `install -d -m 0700 -o ${USER_ID} -g ${USER_ID} "$1${path}"`),
    ...REMOVED.map(path => `rm -rf "$1"/${path}`),
    ...EMPTIED.map(path => `: >"$1/${path}"; chmod 644 "$1/${path}"`),
  ]
  const args = [
    '--variant=essential',
    `--include=${packages.join(',')}`,
    ...EXCLUDED.map(line => `--dpkgopt=${line}`),
    ...hooks.map(line => `--customize-hook=${line}`),
    // A container gets its devices from its runtime, for which addFolder leaves a place.
    '--skip=output/dev',
    '--quiet',
    SUITE,
    file,
    join(root, 'deploy/container/debian.sources'),
  ]
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(created) }
  try {
    execFileSync('mmdebstrap', args, { env, stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' })
  } catch (error) {
    const { code, stderr } = error as { code?: string; stderr?: string }
    const why = code === 'ENOENT' ? 'it is not installed (apt-get install mmdebstrap)' : lastLines(stderr)
    throw new Error(`[image] mmdebstrap failed: ${why}`, { cause: error })
  }
  addFolder('dev', file, created)
}

/** Adds an empty folder to an archive: a runtime cannot create it on a read-only root. */
function addFolder(name: string, file: string, created: number): void {
  const work = mkdtempSync(`${file}.draft-`)
  mkdirSync(join(work, name))
  const fixed = [`--mtime=@${created}`, '--owner=0', '--group=0', '--numeric-owner', '--mode=755']
  execFileSync('tar', ['--append', `--file=${file}`, ...fixed, '-C', work, `./${name}`])
  rmSync(work, { recursive: true })
}

const lastLines = (text = ''): string => text.trim().split('\n').slice(-5).join('; ')
