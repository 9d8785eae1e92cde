/**
 * A child for search-priority.test.ts: indexes a session, and prints what it found and the nice values of its
 * threads.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { openSqliteStore } from '@cairn/log'
import { newSession, say } from './conformance/fixture.ts'

const [dir = ''] = process.argv.slice(2)
const store = await openSqliteStore({ dir })
await store.sessions.create(newSession('s', { org_id: 'org' }))
await store.commit({ session_id: 's', events: [say('a needle')] })
await store.search.catchUp()
const { found } = await store.search.find({ org_id: 'org', words: 'needle', limit: 1 })
const threads = readdirSync('/proc/self/task').flatMap(niceOf)
console.log(JSON.stringify({ found: found.length, threads }))
await store.close()

/** Empty for a thread that has ended since it was listed. */
function niceOf(thread: string): number[] {
  try {
    // The name in brackets may contain spaces; the nice value is the 17th field behind it.
    const [, fields = ''] = /\) (.*)$/m.exec(readFileSync(`/proc/self/task/${thread}/stat`, 'utf8')) ?? []
    return [Number(fields.split(' ')[16])]
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return []
    throw error
  }
}
