/**
 * Loaded with `--import` into a server that a test kills: the process ends like after `kill -9`, before or
 * after a commit of the embedded store. KILL_AT_COMMIT=before:3 names the commit; only those with events of
 * sessions count.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite'

const [when, at] = (process.env['KILL_AT_COMMIT'] ?? '').split(':')
const next = { commit: Number(at), hasEvents: false }

const die = (): void => void process.kill(process.pid, 'SIGKILL')

function onCommit(run: () => unknown): unknown {
  if (!next.hasEvents) return run()
  next.hasEvents = false
  next.commit--
  if (next.commit === 0 && when === 'before') die()
  const result = run()
  if (next.commit === 0 && when === 'after') die()
  return result
}

type Run = StatementSync['run']
const { prepare } = DatabaseSync.prototype
DatabaseSync.prototype.prepare = function (this: DatabaseSync, ...given: Parameters<typeof prepare>) {
  const statement = prepare.apply(this, given)
  const [sql] = given
  const run = statement.run.bind(statement) as Run
  if (sql === 'COMMIT') statement.run = (() => onCommit(run)) as Run
  if (/^\s*INSERT INTO events\b/.test(sql))
    statement.run = ((...values: never[]) => {
      next.hasEvents = true
      return run(...values)
    }) as Run
  return statement
}
