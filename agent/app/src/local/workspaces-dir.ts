/**
 * The location of the sessions' workspaces: a directory apart from the data directory with its keys and
 * database. They used to be inside it; the start moves what is still there.
 */
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { asError } from '@cairn/protocol'
import { ConfigError } from '../config/config-error.ts'
import { configDirOf, readGiven } from '../config/read-config.ts'
import { dataDirOf } from './data-dir.ts'

type Environment = Readonly<Record<string, string | undefined>>
type Report = (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>) => void

const VARIABLE = 'CAIRN_WORKSPACES'
/** Files of a data directory: a directory that contains one of them cannot be the workspaces directory. */
const OF_A_SERVER = ['auth-key.json', 'cairn.db', 'local-admin.json']

/** Next to the data directory and named after it, so that two servers never share one by accident. */
export const defaultWorkspacesDir = (dataDir: string): string =>
  basename(dataDir) === 'data' ? join(dirname(dataDir), 'workspaces') : `${dataDir}-workspaces`

/** `configured`: the key of the configuration, relative to the folder of its file. */
export function workspacesDirOf(env: Environment, configured: string | undefined, configDir: string): string {
  if (env[VARIABLE]) return resolve(env[VARIABLE])
  return configured === undefined ? defaultWorkspacesDir(dataDirOf(env)) : resolve(configDir, configured)
}

/** Finds the directory for commands other than the server. */
export function findWorkspacesDir(env: Environment): string {
  if (env[VARIABLE]) return resolve(env[VARIABLE])
  const { given, file } = readGiven(env)
  return workspacesDirOf(env, given.workspaces, configDirOf(file))
}

/** The reason why the directory cannot be used, with the fix; null: none. Changes nothing. */
export function workspacesDirProblem(dataDir: string, workspacesDir: string): string | null {
  const [data, workspaces] = [realSoFar(dataDir), realSoFar(workspacesDir)]
  if (isBelow(data, workspaces) || isBelow(workspaces, data))
    return (
      `the workspaces (${workspacesDir}) and the data directory (${dataDir}) must be separate, because ` +
      'agents run commands in the workspaces and the data directory contains the keys of the server: ' +
      `set ${VARIABLE} to a directory outside it`
    )
  const foreign = OF_A_SERVER.find(name => lstatSync(join(workspaces, name), { throwIfNoEntry: false }))
  if (foreign !== undefined)
    return (
      `${workspacesDir} is the data directory of a server (it contains ${foreign}): set ${VARIABLE} to ` +
      'another directory'
    )
  // A data directory on its own disk is meant to outlive the machine; workspaces next to it would not be on
  // that disk.
  if (workspacesDir === defaultWorkspacesDir(dataDir) && leavesItsDisk(data, workspaces))
    return (
      `the data directory ${dataDir} is a separate disk, and the default directory for workspaces, ` +
      `${workspacesDir}, is not on that disk: set ${VARIABLE} to the directory to use`
    )
  return null
}

const isBelow = (folder: string, path: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)

/** The real path, resolved as far as it exists. */
function realSoFar(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    if ((asError(error) as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error
    return join(realSoFar(dirname(path)), basename(path))
  }
}

function deviceOf(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? deviceOf(dirname(path)) : found.dev
}

const leavesItsDisk = (data: string, workspaces: string): boolean =>
  deviceOf(data) !== deviceOf(dirname(data)) && deviceOf(workspaces) !== deviceOf(data)

/**
 * Creates the directory and moves workspaces from the old location into it. The data directory must belong to
 * this process.
 */
export function prepareWorkspaces(dataDir: string, workspacesDir: string, report: Report = () => {}): void {
  const problem = workspacesDirProblem(dataDir, workspacesDir)
  if (problem !== null) throw new ConfigError(VARIABLE, [problem])
  try {
    mkdirSync(workspacesDir, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new ConfigError(VARIABLE, [
      `cannot create ${workspacesDir} (${asError(error).message}): set ${VARIABLE} to a directory that ` +
        'this user can write to',
    ])
  }
  moveOld(join(dataDir, 'workspaces'), workspacesDir, report)
}

function moveOld(old: string, workspacesDir: string, report: Report): void {
  const found = lstatSync(old, { throwIfNoEntry: false })
  if (found === undefined) return
  if (found.isSymbolicLink())
    throw new ConfigError(VARIABLE, [
      `${old}, the earlier directory of workspaces, is a link: set ${VARIABLE} to ` +
        `${readlinkSync(old)} and remove the link`,
    ])
  const names = readdirSync(old)
  const moved = names.filter(name => moveOne(join(old, name), join(workspacesDir, name)))
  removeEmpty(old)
  if (moved.length > 0)
    report('info', 'the workspaces were moved', { from: old, to: workspacesDir, count: moved.length })
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch (error) {
    // Another process that starts on this directory may be moving them too.
    if (!['ENOENT', 'ENOTEMPTY'].includes((asError(error) as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

function moveOne(from: string, to: string): boolean {
  try {
    renameSync(from, to)
    return true
  } catch (error) {
    const { code, message } = asError(error) as NodeJS.ErrnoException
    if (code === 'ENOENT') return false
    if (code === 'EXDEV')
      throw new ConfigError(VARIABLE, [
        `${from} cannot be moved to ${to}, which is on another disk: stop every server on this data ` +
          `directory and run mv ${dirname(from)}/* ${dirname(to)}/ (then rmdir ${dirname(from)}), or set ` +
          `${VARIABLE} to a directory on the disk of the data directory`,
      ])
    throw new ConfigError(VARIABLE, [
      code === 'ENOTEMPTY' || code === 'EEXIST'
        ? `${from} cannot be moved to ${to}, which already exists: keep one of the two`
        : `${from} cannot be moved to ${to} (${message})`,
    ])
  }
}
