/** cairn backup: a copy of the data directory, also while the server runs on it. */
import { cpSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { copyLiveStore } from '@cairn/log'
import { dataDirOf } from '../local/data-dir.ts'
import { databaseOf } from '../local/open-store.ts'
import { defineCommand, takePositionals } from './command.ts'
import { EXIT, NotFoundError, UsageError } from './exit.ts'

/** Beside the store: what signs tokens, whom the commands act as, and the files of the sessions. */
const BESIDE = ['auth-key.json', 'local-admin.json', 'checkpoints', 'workspaces']

export const backup = defineCommand({
  name: 'backup',
  summary: 'Copy the data directory while the server runs',
  usage: [
    [
      'backup DIRECTORY',
      'a new or empty one; serve it with CAIRN_DATA=DIRECTORY. It holds the signing key: keep it as safe as the original',
    ],
  ],
  options: {},
  async run({ values, positionals }, io) {
    const [given] = takePositionals(positionals, ['the directory to copy to'])
    const database = databaseOf(io.env)
    if (database !== null) {
      const { schema } = database.address
      throw new UsageError(
        `the store is in Postgres, which copies itself: run pg_dump --format=custom --schema=${schema} --file=cairn.dump "$DATABASE_URL" (without schema and pool among its parameters) first, then copy ${BESIDE.join(', ')} of ${dataDirOf(io.env)}`,
      )
    }
    const source = dataDirOf(io.env)
    const target = resolve(given)
    if (existsSync(target) && readdirSync(target).length > 0)
      throw new UsageError(`${target} is not empty: a backup never mixes with another`)
    mkdirSync(target, { recursive: true, mode: 0o700 })
    // The store first: every file that its events speak of is then among those copied after it.
    if (!(await copyLiveStore(source, target)))
      throw new NotFoundError(`There is no store in ${source}: set CAIRN_DATA to the data directory.`)
    for (const name of BESIDE) {
      if (existsSync(join(source, name)))
        cpSync(join(source, name), join(target, name), {
          recursive: true,
          preserveTimestamps: true,
          verbatimSymlinks: true,
        })
    }
    io.out(values.json ? `${JSON.stringify({ source, target })}\n` : `${target}\n`)
    return EXIT.ok.code
  },
})
