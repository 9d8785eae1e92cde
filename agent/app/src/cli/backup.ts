/** cairn backup: copies the data directory and the workspaces, also while the server is running. */
import { cpSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { copyLiveStore } from '@cairn/log'
import { plural } from '@cairn/protocol'
import { copyFolder } from '@cairn/workspace'
import { dataDirOf } from '../local/data-dir.ts'
import { databaseOf } from '../local/open-store.ts'
import { findWorkspacesDir } from '../local/workspaces-dir.ts'
import { defineCommand, takePositionals } from './command.ts'
import { EXIT, NotFoundError, UsageError } from '../exit.ts'

/**
 * Files to copy besides the store: the token signing key, the keys of sealed values in the store (credentials
 * of connections, browser logins), the local admin, checkpoints of session files, agent memory, and the homes
 * of MCP servers.
 */
const BESIDE = [
  'auth-key.json',
  'secrets.key',
  'browser-state.key',
  'local-admin.json',
  'checkpoints',
  'memory',
  'mcp',
]

export const backup = defineCommand({
  name: 'backup',
  summary: 'Copy the data directory and the workspaces while the server runs',
  usage: [
    [
      'backup DIRECTORY',
      'copy to a new or empty directory. To use the copy, run cairn serve with ' +
        'CAIRN_DATA=DIRECTORY; the first start moves the workspaces out of it. ' +
        'The copy contains all keys of the server: keep it as safe as the original',
    ],
  ],
  options: {},
  async run({ values, positionals }, io) {
    const [given] = takePositionals(positionals, ['target directory'])
    const database = databaseOf(io.env)
    if (database !== null) {
      const { schema } = database.address
      throw new UsageError(
        `The store is in Postgres: first run pg_dump --format=custom --schema=${schema} ` +
          '--file=cairn.dump "$DATABASE_URL" (omit its schema and pool parameters), then ' +
          `copy ${BESIDE.join(', ')} from ${dataDirOf(io.env)}, and ${findWorkspacesDir(io.env)}`,
      )
    }
    const source = dataDirOf(io.env)
    const target = resolve(given)
    if (existsSync(target) && readdirSync(target).length > 0)
      throw new UsageError(`${target} is not empty: choose a new or empty directory for the backup`)
    mkdirSync(target, { recursive: true, mode: 0o700 })
    // Copy the store first: then every file that its events refer to is copied after it.
    if (!(await copyLiveStore(source, target)))
      throw new NotFoundError(`No store in ${source}: set CAIRN_DATA to the data directory.`)
    let leftOut = 0
    for (const name of BESIDE) {
      const [from, to] = [join(source, name), join(target, name)]
      if (statSync(from, { throwIfNoEntry: false })?.isDirectory() === true)
        leftOut += await copyFolder(from, to)
      else if (existsSync(from)) cpSync(from, to, { preserveTimestamps: true })
    }
    leftOut += await copyWorkspaces([join(source, 'workspaces'), findWorkspacesDir(io.env)], target)
    const skipped = plural(leftOut, 'entry', 'entries')
    if (leftOut > 0) io.note(`${skipped} skipped: sockets, pipes, and files deleted during the copy`)
    io.out(values.json ? `${JSON.stringify({ source, target, left_out: leftOut })}\n` : `${target}\n`)
    return EXIT.ok.code
  },
})

/**
 * The former and the current location of the workspaces; the first start on the copy moves those from the
 * former one.
 */
async function copyWorkspaces(places: readonly string[], target: string): Promise<number> {
  let leftOut = 0
  for (const place of places) {
    if (!existsSync(place)) continue
    mkdirSync(join(target, 'workspaces'), { recursive: true, mode: 0o700 })
    for (const entry of readdirSync(place, { withFileTypes: true })) {
      const copy = join(target, 'workspaces', entry.name)
      if (entry.isDirectory() && !existsSync(copy)) leftOut += await copyFolder(join(place, entry.name), copy)
    }
  }
  return leftOut
}
